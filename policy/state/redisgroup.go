package state

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// groupKeys are what the server keeps about a group beside its entries. No
// entry can have such a name, since groups have no "@".
type groupKeys struct {
	index   string // sorted set of the names that were set, by their end
	version string // differs after every change
	channel string // a message after every change
}

func (r *Redis) groupKeys(group string) groupKeys {
	return groupKeys{
		index:   r.prefix + "@index/" + group,
		version: r.prefix + "@version/" + group,
		channel: r.prefix + "@changes/" + group,
	}
}

// changeFunction marks a group as changed. A version that begins anew begins
// with the time, so that it never repeats one from before a loss of data. Both
// keys end with the last entry.
const changeFunction = `
local function change(index, version, channel, seconds, micros)
	if redis.call('EXISTS', version) == 1 then
		redis.call('INCR', version)
	else
		redis.call('SET', version, string.format('%.0f', seconds * 1000000 + micros))
	end
	local last = redis.call('ZRANGE', index, -1, -1, 'WITHSCORES')
	if last[2] then
		redis.call('PEXPIREAT', index, last[2])
		redis.call('PEXPIREAT', version, last[2])
	else
		redis.call('EXPIRE', version, 3600)
	end
	redis.call('PUBLISH', channel, '')
end
`

// setFunction makes or replaces an entry. Both scripts that use it have the
// keys: entry, index, version; the arguments: value, milliseconds to live, name,
// channel, most entries, what names begin with.
const setFunction = changeFunction + `
local function set()
	local time = redis.call('TIME')
	local now = time[1] * 1000 + math.floor(time[2] / 1000)
	redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
	if not redis.call('ZSCORE', KEYS[2], ARGV[3]) then
		local over = redis.call('ZCARD', KEYS[2]) - ARGV[5] + 1
		if over > 0 then
			local out = redis.call('ZPOPMIN', KEYS[2], over)
			for i = 1, #out, 2 do
				redis.call('DEL', ARGV[6] .. out[i])
			end
		end
	end
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	redis.call('ZADD', KEYS[2], string.format('%.0f', now + ARGV[2]), ARGV[3])
	change(KEYS[2], KEYS[3], ARGV[4], time[1], time[2])
end
`

var setScript = redis.NewScript(setFunction + `
set()
return 1
`)

// keepScript leaves the value that is there, but for its end; that is no change.
var keepScript = redis.NewScript(setFunction + `
local kept = redis.call('GET', KEYS[1])
if not kept then
	set()
	return ARGV[1]
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if redis.call('ZSCORE', KEYS[2], ARGV[3]) then
	local time = redis.call('TIME')
	local ends = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2])
	redis.call('ZADD', KEYS[2], ends, ARGV[3])
	local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
	redis.call('PEXPIREAT', KEYS[2], last[2])
	redis.call('PEXPIREAT', KEYS[3], last[2])
end
return kept
`)

// deleteScript has the keys: entry, index, version; the arguments: name,
// channel.
var deleteScript = redis.NewScript(changeFunction + `
if redis.call('DEL', KEYS[1]) == 0 then
	return 0
end
redis.call('ZREM', KEYS[2], ARGV[1])
local time = redis.call('TIME')
change(KEYS[2], KEYS[3], ARGV[2], time[1], time[2])
return 1
`)

// incrScript has the key of the counter and its window in milliseconds.
var incrScript = redis.NewScript(`
local count = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
	left = tonumber(ARGV[1])
end
local time = redis.call('TIME')
return {count, left, tonumber(time[1]), tonumber(time[2])}
`)

// Watch implements [Store]. Messages make it fast. That nothing is missed, and
// that the server is still there, it knows from the version, which it reads
// every WatchInterval.
func (r *Redis) Watch(ctx context.Context, group string, notify func(Notice)) error {
	if err := checkGroup(group); err != nil {
		return err
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.closed, cancel)()
	keys := r.groupKeys(group)
	pubsub := r.client.Subscribe(watching, keys.channel)
	defer func() { _ = pubsub.Close() }()
	messages := pubsub.Channel(redis.WithChannelSize(1), redis.WithChannelSendTimeout(WatchInterval))
	tick := time.NewTicker(WatchInterval)
	defer tick.Stop()
	for known, first := "", true; ; {
		version, err := r.version(watching, keys.version)
		switch {
		case watching.Err() != nil:
		case err != nil:
			notify(Notice{Err: err})
		default:
			notify(Notice{Changed: first || version != known})
			known, first = version, false
		}
		select {
		case <-watching.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errClosed
		case <-messages:
		case <-tick.C:
		}
	}
}

// version is empty for a group that never changed, or has no entries any more.
func (r *Redis) version(ctx context.Context, key string) (version string, err error) {
	err = r.do(ctx, r.timeout, func(ctx context.Context) (err error) {
		version, err = r.client.Get(ctx, key).Result()
		return err
	})
	if errors.Is(err, ErrNotFound) {
		err = nil
	}

	return version, err
}
