// SPDX-License-Identifier: GPL-2.0-only

// counter SOCKET - the counter and the cached report of counter.py, with gomemcache.
//
//	hbserve -s /run/hashbelt/reports.sock -b reports
//	go run counter.go /run/hashbelt/reports.sock
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

type report struct {
	Visits uint64 `json:"visits"`
}

// find returns the report: from the belt, or made from the visits and kept for 60 seconds.
func find(client *memcache.Client, visits uint64) (found report, how string, err error) {
	item, err := client.Get("report")
	if err == nil {
		return found, "cached", json.Unmarshal(item.Value, &found)
	}
	if err != memcache.ErrCacheMiss {
		return found, "", err
	}
	found.Visits = visits
	text, _ := json.Marshal(found)
	return found, "made", client.Set(&memcache.Item{Key: "report", Value: text, Expiration: 60})
}

func main() {
	client := memcache.New(os.Args[1])
	client.Timeout = 10 * time.Second // of a call; 100 ms by default
	err := client.Add(&memcache.Item{Key: "visits", Value: []byte(strconv.Itoa(0))})
	if err != nil && err != memcache.ErrNotStored {
		log.Fatal(err)
	}
	visits, err := client.Increment("visits", 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("visit %d\n", visits)
	found, how, err := find(client, visits)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("report (%s): %d visits\n", how, found.Visits)
}
