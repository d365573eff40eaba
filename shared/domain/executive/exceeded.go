package executive

// Exceeded holds the details of a timeline entry that tells that an executive asked for more than its quota of a day.
type Exceeded struct {
	Name        string `json:"name"`
	QuotaPerDay int    `json:"exceededQuota"` // no other entry of an executive has this member
}
