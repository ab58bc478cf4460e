package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// pagesDeep is how many deep pages the requests choose from.
const pagesDeep = 50

// walk goes through nine tenths of the tasks of each service, page by page as a
// client does, since there is no other way to a cursor that far.
func (b *bench) walk(ctx context.Context) error {
	for _, c := range b.contenders {
		for _, w := range []struct {
			operation         operation
			size, cursor, key string
		}{{listDeep, "limit", "cursor", "next_cursor"}, {tokenDeep, "page_size", "page_token", "next_page_token"}} {
			if !slices.Contains(c.operations, w.operation) || !strings.HasPrefix(c.name, "parley-") {
				continue
			}
			b.say("walking over the tasks of %s, by %s", c.name, w.cursor)
			found, err := c.cursors(ctx, b.tasks, w.size, w.cursor, w.key)
			if err != nil {
				return fmt.Errorf("walking over the tasks of %s: %w", c.name, err)
			}
			for _, cursor := range found {
				c.ready.Lists[w.operation.name] = append(c.ready.Lists[w.operation.name], "?"+w.size+"=20&"+w.cursor+"="+cursor)
			}
		}
	}
	return nil
}

// cursors returns those of the deep pages.
func (c *contender) cursors(ctx context.Context, tasks int, size, cursor, member string) (found []string, err error) {
	client := http.Client{Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	next := ""
	for rows := 0; len(found) < pagesDeep; {
		step := 100
		if rows >= deep(tasks) {
			step = 20
		}
		query := fmt.Sprintf("?%s=%d", size, min(step, tasks))
		if next != "" {
			query += "&" + cursor + "=" + next
		}
		if next, err = c.next(ctx, &client, query, member); err != nil {
			return nil, err
		}
		if next == "" {
			break
		}
		if rows += step; rows >= deep(tasks) {
			found = append(found, next)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%d tasks are too few", tasks)
	}
	return found, nil
}

// next reads a page and returns the cursor of the one behind it.
func (c *contender) next(ctx context.Context, client *http.Client, query, member string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.ready.Addr+c.ready.Collection+query, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", c.ready.Token)
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var page struct {
		Token      string `json:"next_page_token"`
		Pagination struct {
			Cursor string `json:"next_cursor"`
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil || response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("got %s, %w", response.Status, err)
	}
	if member == "next_page_token" {
		return page.Token, nil
	}
	return page.Pagination.Cursor, nil
}
