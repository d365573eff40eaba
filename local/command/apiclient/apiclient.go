// Package apiclient calls the public API for the commands of a developer. It logs in as a user and renews the token when it
// expires.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Limits of one request.
const (
	timeout    = 30 * time.Second
	maxBody    = 8 << 20
	maxExcerpt = 300 // bytes of an answer that an error shows
)

// Account says who logs in, and where.
type Account struct{ Base, Email, Password string }

// Client calls the operations of one company. It is safe for concurrent use.
type Client struct {
	account Account
	http    *http.Client

	mu      sync.Mutex
	token   string
	company string
}

// Login logs in. It returns a *Problem if the service refuses the account.
func Login(ctx context.Context, account Account) (*Client, error) {
	account.Base = strings.TrimRight(account.Base, "/")
	if err := checkBase(account.Base); err != nil {
		return nil, err
	}
	c := &Client{account: account, http: &http.Client{
		Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	_, err := c.login(ctx, "")
	return c, err
}

// checkBase refuses an address to which a password would travel in the clear.
func checkBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--api: %q is not an address such as https://api.example.com or http://127.0.0.1:4000", base)
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return fmt.Errorf("--api: %s would send the password unencrypted; use https", u.Host)
	}
	return nil
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// Company returns the id of the account's company.
func (c *Client) Company() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.company
}

// login gets a new token, unless another goroutine has replaced the token that expired.
func (c *Client) login(ctx context.Context, expired string) (token string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != expired {
		return c.token, nil
	}
	var session struct {
		AccessToken string `json:"access_token"`
		CompanyID   string `json:"company_id"`
	}
	credentials := map[string]string{"email": c.account.Email, "password": c.account.Password}
	if err := c.send(ctx, http.MethodPost, "/auth/login", "", nil, credentials, &session); err != nil {
		return "", fmt.Errorf("log in as %s: %w", c.account.Email, err)
	}
	c.token, c.company = session.AccessToken, session.CompanyID
	return c.token, nil
}

// Do calls an operation of the company: path follows /companies/{companyId}. It decodes the answer into out unless out is
// nil. An answer other than 2xx is a *Problem. A token that has expired is renewed once.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	return c.authorized(ctx, method, path, nil, in, out)
}

// Create posts what must not exist yet. If it exists, the service replaces nothing, and Create returns a *Problem with 412.
func (c *Client) Create(ctx context.Context, path string, in, out any) error {
	return c.authorized(ctx, http.MethodPost, path, http.Header{"If-None-Match": {"*"}}, in, out)
}

func (c *Client) authorized(ctx context.Context, method, path string, header http.Header, in, out any) error {
	c.mu.Lock()
	token := c.token
	c.mu.Unlock()
	for renewed := false; ; renewed = true {
		err := c.send(ctx, method, "/companies/"+c.Company()+path, token, header, in, out)
		var p *Problem
		if renewed || !errors.As(err, &p) || p.Status != http.StatusUnauthorized {
			return err
		}
		if token, err = c.login(ctx, token); err != nil {
			return err
		}
	}
}

// Inbound sends a signed arrival to a provider's address, as the provider does.
func (c *Client) Inbound(ctx context.Context, provider string, header http.Header, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.account.Base+"/inbound/"+c.Company()+"/"+provider, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	return c.do(req, out)
}

func (c *Client) send(ctx context.Context, method, path, token string, header http.Header, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.account.Base+path, body)
	if err != nil {
		return err
	}
	maps.Copy(req.Header, header)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return c.do(req, out)
}

func (c *Client) do(req *http.Request, out any) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return problem(resp, body)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s %s: the answer is not the API's; check --api: %w", req.Method, req.URL.Path, err)
	}
	return nil
}
