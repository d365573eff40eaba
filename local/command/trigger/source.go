package trigger

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"orgops/local/command/apiclient"
	"orgops/shared/base/wait"
)

// source returns the first source that is certified and enabled.
func source(ctx context.Context, api *apiclient.Client) (string, error) {
	var all struct {
		Items []struct {
			Provider    string   `json:"provider"`
			State       string   `json:"state"`
			Enabled     bool     `json:"enabled"`
			Permissions []string `json:"permissions"`
		} `json:"items"`
	}
	if err := api.Do(ctx, http.MethodGet, "/integrations", nil, &all); err != nil {
		return "", err
	}
	for _, i := range all.Items {
		if i.State == "certified" && i.Enabled && slices.Contains(i.Permissions, "sync.pull") {
			return i.Provider, nil
		}
	}
	return "", errors.New("the company has no certified source; configure and certify one first, such as feed")
}

// run shows a sync.
type run struct {
	ID    string `json:"id"`
	Mode  string `json:"mode"`
	State string `json:"state"`
	Error string `json:"error"`
}

// How long a sync is waited for, and how often its state is asked for.
const (
	patience = 5 * time.Minute
	every    = 300 * time.Millisecond
)

// await reads the run until it has ended.
func (r *run) await(ctx context.Context, api *apiclient.Client) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for r.State == "requested" || r.State == "running" {
		if !wait.For(ctx, every) {
			return errors.New("the sync has not ended within 5 minutes; see GET …/memory/syncs/" + r.ID)
		}
		if err := api.Do(ctx, http.MethodGet, "/memory/syncs/"+r.ID, nil, r); err != nil {
			return err
		}
	}
	return nil
}
