// SPDX-License-Identifier: GPL-2.0-only

// client SOCKET - calls of gomemcache on a server at a unix socket. Prints each that does not do what it
// should, and exits with 1 then.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

var wrong = false

func check(name string, good bool, found interface{}) {
	if !good {
		fmt.Printf("%s: found %v\n", name, found)
		wrong = true
	}
}

func main() {
	client := memcache.New(os.Args[1])
	client.Timeout = time.Minute
	client.DeleteAll()
	err := client.Set(&memcache.Item{Key: "k", Value: []byte("value"), Flags: 5, Expiration: 100})
	check("set", err == nil, err)
	item, err := client.Get("k")
	check("get", err == nil && string(item.Value) == "value" && item.Flags == 5, err)
	_, err = client.Get("none")
	check("get of a missing key", err == memcache.ErrCacheMiss, err)
	item.Value = []byte("next")
	err = client.CompareAndSwap(item)
	check("cas", err == nil, err)
	err = client.CompareAndSwap(item)
	check("a second cas", err == memcache.ErrCASConflict, err)
	err = client.Add(&memcache.Item{Key: "k", Value: []byte("x")})
	check("add", err == memcache.ErrNotStored, err)
	err = client.Add(&memcache.Item{Key: "n", Value: []byte("40")})
	check("add of a new key", err == nil, err)
	number, err := client.Increment("n", 3)
	check("incr", err == nil && number == 43, number)
	number, err = client.Decrement("n", 50)
	check("decr", err == nil && number == 0, number)
	_, err = client.Increment("none", 1)
	check("incr of a missing key", err == memcache.ErrCacheMiss, err)
	items, err := client.GetMulti([]string{"k", "n", "none"})
	check("get of several keys", err == nil && len(items) == 2, len(items))
	err = client.Touch("k", 50)
	check("touch", err == nil, err)
	err = client.Delete("n")
	check("delete", err == nil, err)
	err = client.Delete("n")
	check("a second delete", err == memcache.ErrCacheMiss, err)
	large := make([]byte, 500000)
	err = client.Set(&memcache.Item{Key: "large", Value: large})
	check("set of 500,000 bytes", err == nil, err)
	item, err = client.Get("large")
	check("get of 500,000 bytes", err == nil && len(item.Value) == len(large), err)
	if wrong {
		os.Exit(1)
	}
}
