// SPDX-License-Identifier: GPL-2.0-only
//
// go_redis SOCKET - calls of go-redis 9, and throttled with go-redis 6, on a server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	old "github.com/go-redis/redis"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled"
	"github.com/throttled/throttled/store/goredisstore"
)

var ctx = context.Background()

// show prints a result, or an error.
func show(name string, result interface{}, err error) {
	if err != nil {
		result = fmt.Sprintf("error: %v", err)
	}
	fmt.Printf("%s: %v\n", name, result)
}

// about is the time that was set, if at most a tenth of it is gone.
func about(set, left time.Duration) interface{} {
	if left > set-set/10 && left <= set {
		return fmt.Sprintf("about %v", set)
	}
	return left
}

// calls shows what calls return.
func calls(client *redis.Client, name string) {
	call := func(what string, command interface {
		Err() error
		String() string
	}) {
		fmt.Printf("%s: %s\n", name, strings.TrimRight(command.String(), " "))
	}
	call("flush", client.FlushDB(ctx))
	call("set", client.Set(ctx, "k", "v", 1000*time.Second))
	call("get", client.Get(ctx, "k"))
	call("get", client.Get(ctx, "none"))
	ttl, err := client.TTL(ctx, "k").Result()
	show(name+": ttl", about(1000*time.Second, ttl), err)
	call("keep", client.Set(ctx, "k", "w", redis.KeepTTL))
	ttl, err = client.PTTL(ctx, "k").Result()
	show(name+": pttl after it", about(1000*time.Second, ttl), err)
	call("setnx", client.SetNX(ctx, "k", "x", 0))
	call("setnx", client.SetNX(ctx, "new", "x", 1500*time.Millisecond))
	call("setxx", client.SetXX(ctx, "none", "x", 0))
	call("getset", client.SetArgs(ctx, "k", "y", redis.SetArgs{Mode: "XX", Get: true, KeepTTL: true}))
	call("getex", client.GetEx(ctx, "k", 500*time.Second))
	call("expire", client.ExpireNX(ctx, "k", time.Second))
	call("expire", client.ExpireGT(ctx, "k", 900*time.Second))
	call("persist", client.Persist(ctx, "k"))
	call("ttl", client.TTL(ctx, "k"))
	call("mset", client.MSet(ctx, "a", 1, "b", "2"))
	call("mget", client.MGet(ctx, "a", "none", "b"))
	call("incr", client.IncrBy(ctx, "a", 41))
	call("incr", client.Incr(ctx, "k"))
	call("append", client.Append(ctx, "b", "34"))
	call("range", client.GetRange(ctx, "b", 1, -1))
	call("exists", client.Exists(ctx, "a", "b", "none"))
	call("getdel", client.GetDel(ctx, "b"))
	call("del", client.Del(ctx, "a", "none"))
	call("hash", client.HSet(ctx, "h", "f", 1))
}

// pipelines shows pipelines and transactions.
func pipelines(client *redis.Client, name string) {
	var sum *redis.IntCmd

	found, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, "n", 1, 0)
		sum = pipe.Incr(ctx, "n")
		pipe.Get(ctx, "none")
		return nil
	})
	show(name+": pipeline", len(found), nil)
	show(name+": its error", errors.Is(err, redis.Nil), nil)
	show(name+": its sum", sum.Val(), nil)
	_, err = client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Incr(ctx, "n")
		sum = pipe.Incr(ctx, "n")
		return nil
	})
	show(name+": transaction", sum.Val(), err)
	for i := 0; i < 1000; i++ {
		client.Set(ctx, fmt.Sprintf("scan:%d", i), i, 0)
	}
	var keys []string
	iterator := client.Scan(ctx, 0, "scan:*", 100).Iterator()
	for iterator.Next(ctx) {
		keys = append(keys, iterator.Val())
	}
	sort.Strings(keys)
	show(name+": scan", fmt.Sprintf("%d keys from %s to %s", len(keys), keys[0], keys[len(keys)-1]), iterator.Err())
	script := redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
		return redis.call("del", KEYS[1])
	end
	return 0`)
	for _, token := range []string{"other", "token"} {
		client.SetNX(ctx, "lock", "token", time.Minute)
		result, err := script.Run(ctx, client, []string{"lock"}, token).Result()
		show(name+": a script that unlocks", result, err)
	}
	counts := make([]int64, 8)
	var group sync.WaitGroup
	for i := range counts {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 100; j++ {
				counts[i] = client.Incr(ctx, "many").Val()
			}
		}()
	}
	group.Wait()
	many, err := client.Get(ctx, "many").Int()
	show(name+": eight routines count", many, err)
}

// databases shows that a database is one of its own.
func databases(path string) {
	one := redis.NewClient(&redis.Options{Network: "unix", Addr: path, DB: 1})
	show("database 1", one.Set(ctx, "k", "other", 0).Val(), nil)
	zero := redis.NewClient(&redis.Options{Network: "unix", Addr: path})
	show("database 0", zero.Set(ctx, "k", "zero", 0).Val(), nil)
	show("database 1 is flushed", one.FlushDB(ctx).Val(), nil)
	show("the key of database 0", zero.Get(ctx, "k").Val(), nil)
	nine := redis.NewClient(&redis.Options{Network: "unix", Addr: path, DB: 9, MaxRetries: -1})
	result, err := nine.FlushDB(ctx).Result()
	show("database 9 is flushed", result, err)
	show("the key of database 0 after it", zero.Get(ctx, "k").Val(), nil)
}

// limiter shows throttled, whose store compares and swaps.
func limiter(path string) {
	client := old.NewClient(&old.Options{Network: "unix", Addr: path})
	store, err := goredisstore.New(client, "t:")
	if err != nil {
		show("throttled", nil, err)
		return
	}
	limiter, err := throttled.NewGCRARateLimiter(store, throttled.RateQuota{MaxRate: throttled.PerDay(1), MaxBurst: 2})
	if err != nil {
		show("throttled", nil, err)
		return
	}
	for i := 0; i < 4; i++ {
		limited, result, err := limiter.RateLimit("k", 1)
		show("throttled", fmt.Sprint(limited, result.Remaining), err)
	}
	ok, err := store.CompareAndSwapWithTTL("none", 1, 2, time.Hour)
	show("throttled: an absent key is not swapped", ok, err)
	ok, err = store.CompareAndSwapWithTTL("k", 1, 2, time.Hour)
	show("throttled: another value is not swapped", ok, err)
	client.Set("t:n", 1, 0)
	ok, err = store.CompareAndSwapWithTTL("n", 1, 2, 1000*time.Second)
	show("throttled: a value is swapped", ok, err)
	show("throttled: the time of it", about(1000*time.Second, client.TTL("t:n").Val()), nil)
}

func main() {
	path := os.Args[1]
	for version := 2; version <= 3; version++ {
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: path, Protocol: version})
		name := fmt.Sprintf("RESP %d", version)
		calls(client, name)
		pipelines(client, name)
	}
	databases(path)
	limiter(path)
}
