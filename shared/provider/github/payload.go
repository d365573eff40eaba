package github

import "time"

// payload holds the members of a delivery that the mapping reads. GitHub sends many more.
type payload struct {
	Action     string      `json:"action"`
	Repository *repository `json:"repository"`
	Issue      *issue      `json:"issue"`
	Discussion *discussion `json:"discussion"`
	Milestone  *milestone  `json:"milestone"`
	Release    *release    `json:"release"`
}

type repository struct {
	FullName string `json:"full_name"`
}

type issue struct {
	Number    int64      `json:"number"`
	Title     string     `json:"title"`
	Body      string     `json:"body"`
	HTMLURL   string     `json:"html_url"`
	Milestone *milestone `json:"milestone"`
	UpdatedAt *time.Time `json:"updated_at"`
}

type discussion struct {
	Number  int64  `json:"number"`
	Title   string `json:"title"`
	Body    string `json:"body"`
	HTMLURL string `json:"html_url"`

	UpdatedAt *time.Time `json:"updated_at"`
}

type milestone struct {
	Number       int64      `json:"number"`
	Title        string     `json:"title"`
	Description  string     `json:"description"`
	HTMLURL      string     `json:"html_url"`
	State        string     `json:"state"`
	OpenIssues   int64      `json:"open_issues"`
	ClosedIssues int64      `json:"closed_issues"`
	DueOn        *time.Time `json:"due_on"`
	CreatedAt    *time.Time `json:"created_at"`
	UpdatedAt    *time.Time `json:"updated_at"`
}

type release struct {
	TagName     string     `json:"tag_name"`
	Name        string     `json:"name"`
	HTMLURL     string     `json:"html_url"`
	Prerelease  bool       `json:"prerelease"`
	PublishedAt *time.Time `json:"published_at"`
	Author      *struct {
		Login string `json:"login"`
	} `json:"author"`
}
