"""The queue's moves, each one script: the server runs it wholly or not at all, and alone.

Keys, below `crawl:`:
  queue           list of tasks, the next one first; a task is `JOB URL`
  jobs, open      list of all jobs in the order of submission; set of those with NR > 0
  job:JOB         hash: spider, url, added (NA), finished (NF), failed (NE), submitted (seconds since the epoch)
  state:JOB       hash: URL → queued | finished | failed. A counter moves only when a state does.
  meta:JOB        hash: URL → JSON of what the spider sent along
  reason:JOB      hash: URL → why it failed
  deaths:JOB      hash: URL → how many workers died of it, and the name of the last death
  lease:NAME      token of the generation that is this instance, gone when it was not renewed in time
  hand:NAME       hash: worker slot → its task
  instances       hash: NAME → JSON of what the instance says about itself
  beats           hash: NAME → when it last renewed its lease (milliseconds, the server's clock)
  ids, submissions:NONCE   the last number given to a job of a spider; the answer to a submission, for an hour

Every move may be repeated when its answer got lost: a second time it finds its work done and only answers.
A move of an instance names its token and is refused, with `lapsed` or `fenced`, when the lease says otherwise.
"""

from __future__ import annotations

PRELUDE = """
local P = 'crawl:'
local QUEUE = P .. 'queue'
local function call(...) return redis.call(...) end
local function holds(name, token)
  local held = call('GET', P .. 'lease:' .. name)
  if not held then return 'lapsed' end
  if held ~= token then return 'fenced' end
  return 'ok'
end
local function split(task)
  local at = string.find(task, ' ', 1, true)
  return string.sub(task, 1, at - 1), string.sub(task, at + 1)
end
local function add(job, url, meta)
  if call('HSETNX', P .. 'state:' .. job, url, 'queued') == 0 then return end
  if meta ~= '' then call('HSET', P .. 'meta:' .. job, url, meta) end
  call('HINCRBY', P .. 'job:' .. job, 'added', 1)
  call('RPUSH', QUEUE, job .. ' ' .. url)
end
local function settle(job, url, state, counter)
  if call('HGET', P .. 'state:' .. job, url) ~= 'queued' then return false end
  call('HSET', P .. 'state:' .. job, url, state)
  call('HINCRBY', P .. 'job:' .. job, counter, 1)
  call('HDEL', P .. 'deaths:' .. job, url)
  return true
end
local function close(job)
  local n = call('HMGET', P .. 'job:' .. job, 'added', 'finished', 'failed')
  if tonumber(n[1]) == tonumber(n[2]) + tonumber(n[3]) then call('SREM', P .. 'open', job) end
end
local function fail(job, url, reason)
  if settle(job, url, 'failed', 'failed') then
    call('HSET', P .. 'reason:' .. job, url, reason)
    close(job)
  end
end
local function next_task(name, slot)
  local task = call('HGET', P .. 'hand:' .. name, slot)
  if not task then
    task = call('LPOP', QUEUE)
    if not task then return {'ok', ''} end
    call('HSET', P .. 'hand:' .. name, slot, task)
  end
  local job, url = split(task)
  local spider = call('HGET', P .. 'job:' .. job, 'spider') or ''
  return {'ok', task, spider, call('HGET', P .. 'meta:' .. job, url) or ''}
end
local function give_back(name, from_slot)
  local hand = call('HGETALL', P .. 'hand:' .. name)
  local given = 0
  for i = 1, #hand, 2 do
    if tonumber(hand[i]) >= from_slot then
      call('LPUSH', QUEUE, hand[i + 1])
      call('HDEL', P .. 'hand:' .. name, hand[i])
      given = given + 1
    end
  end
  return given
end
local function now_ms()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function tell(name, about)
  call('HSET', P .. 'instances', name, about)
  call('HSET', P .. 'beats', name, string.format('%.0f', now_ms()))
end
"""

# ARGV: nonce, wished id or '', spider, url → {id, 1 if it is new}
SUBMIT = """
local known = call('GET', P .. 'submissions:' .. ARGV[1])
if known then return {known, 1} end
local id = ARGV[2]
if id == '' then
  repeat id = ARGV[3] .. '-' .. call('HINCRBY', P .. 'ids', ARGV[3], 1)
  until call('EXISTS', P .. 'job:' .. id) == 0
elseif call('EXISTS', P .. 'job:' .. id) == 1 then
  return {id, 0}
end
call('HSET', P .. 'job:' .. id, 'spider', ARGV[3], 'url', ARGV[4],
  'added', 0, 'finished', 0, 'failed', 0, 'submitted', call('TIME')[1])
call('RPUSH', P .. 'jobs', id)
call('SADD', P .. 'open', id)
add(id, ARGV[4], '')
call('SET', P .. 'submissions:' .. ARGV[1], id, 'EX', 3600)
return {id, 1}
"""

# ARGV: job → how many failed tasks are queued again, -1 when there is no such job
RETRY = """
local job = ARGV[1]
if call('EXISTS', P .. 'job:' .. job) == 0 then return -1 end
local states = call('HGETALL', P .. 'state:' .. job)
local queued = 0
for i = 1, #states, 2 do
  if states[i + 1] == 'failed' then
    call('HSET', P .. 'state:' .. job, states[i], 'queued')
    call('HDEL', P .. 'reason:' .. job, states[i])
    call('HINCRBY', P .. 'job:' .. job, 'failed', -1)
    call('RPUSH', QUEUE, job .. ' ' .. states[i])
    queued = queued + 1
  end
end
if queued > 0 then call('SADD', P .. 'open', job) end
return queued
"""

# ARGV: instance, owner, generation, lease_ms, workers, about → {state, ms until the lease may lapse or slots freed}
# A token is `owner:generation`. Who asks with the same owner is the same main process after a reload: it takes
# over from its own predecessor at once. Slots beyond its workers give their tasks back.
CLAIM = """
local key = P .. 'lease:' .. ARGV[1]
local held = call('GET', key)
if held then
  local owner, generation = string.match(held, '^(.*):(%d+)$')
  if owner ~= ARGV[2] then return {'held', call('PTTL', key)} end
  if tonumber(generation) > tonumber(ARGV[3]) then return {'fenced', 0} end
end
call('SET', key, ARGV[2] .. ':' .. ARGV[3], 'PX', ARGV[4])
tell(ARGV[1], ARGV[6])
return {'ok', give_back(ARGV[1], tonumber(ARGV[5]))}
"""

# ARGV: instance, token, lease_ms, about → {state, name, tasks, name, tasks, …}: whose tasks were taken over
# A lease that lapsed meanwhile, with nobody else in it, is taken up again: whatever was given away is no longer
# in hand, and a worker that still has such a page finds that out when it finishes it.
BEAT = """
local state = holds(ARGV[1], ARGV[2])
if state == 'fenced' then return {state} end
call('SET', P .. 'lease:' .. ARGV[1], ARGV[2], 'PX', ARGV[3])
tell(ARGV[1], ARGV[4])
local answer = {state}
for _, name in ipairs(call('HKEYS', P .. 'instances')) do
  if call('EXISTS', P .. 'lease:' .. name) == 0 then
    local taken = give_back(name, 0)
    if taken > 0 then
      table.insert(answer, name)
      table.insert(answer, taken)
    end
  end
end
return answer
"""

# ARGV: instance, token, about → {state, tasks given back}: an orderly end
RELEASE = """
local state = holds(ARGV[1], ARGV[2])
if state ~= 'ok' then return {state, 0} end
local given = give_back(ARGV[1], 0)
call('DEL', P .. 'lease:' .. ARGV[1])
tell(ARGV[1], ARGV[3])
return {'ok', given}
"""

# ARGV: instance, token, slot → {state, task, spider, meta}; task is '' when there is none
TAKE = """
local state = holds(ARGV[1], ARGV[2])
if state ~= 'ok' then return {state} end
return next_task(ARGV[1], ARGV[3])
"""

# ARGV: instance, token, slot, task → {state}; `gone` when the slot no longer has the task
HOLDS = """
local state = holds(ARGV[1], ARGV[2])
if state == 'ok' and call('HGET', P .. 'hand:' .. ARGV[1], ARGV[3]) ~= ARGV[4] then state = 'gone' end
return {state}
"""

# ARGV: instance, token, slot, task, children (JSON: [[url, meta], …]), reason ('' unless it failed), take (1 or 0)
# → {state, task, spider, meta}: the slot's next task, if asked for
FINISH = """
local state = holds(ARGV[1], ARGV[2])
if state ~= 'ok' then return {state} end
if call('HGET', P .. 'hand:' .. ARGV[1], ARGV[3]) == ARGV[4] then
  local job, url = split(ARGV[4])
  local children = cjson.decode(ARGV[5]) -- before anything is written: an error does not undo that
  if ARGV[6] ~= '' then
    fail(job, url, ARGV[6])
  elseif settle(job, url, 'finished', 'finished') then
    for _, child in ipairs(children) do add(job, child[1], child[2]) end
    call('HDEL', P .. 'meta:' .. job, url)
    close(job)
  end
  call('HDEL', P .. 'hand:' .. ARGV[1], ARGV[3])
end
if ARGV[7] == '0' then return {'ok', ''} end
return next_task(ARGV[1], ARGV[3])
"""

# ARGV: instance, token, slot, name of this death, limit, what it died of → {state, task, deaths}
# After `limit` deaths the task is given up; before that it stays in hand, for the slot's next worker.
DEATH = """
local state = holds(ARGV[1], ARGV[2])
if state == 'fenced' then return {state, '', 0} end
local task = call('HGET', P .. 'hand:' .. ARGV[1], ARGV[3])
if not task then return {'ok', '', 0} end
local job, url = split(task)
local known = call('HGET', P .. 'deaths:' .. job, url) or '0 '
local space = string.find(known, ' ', 1, true)
local deaths = tonumber(string.sub(known, 1, space - 1))
if string.sub(known, space + 1) == ARGV[4] then return {'ok', task, deaths} end
deaths = deaths + 1
call('HSET', P .. 'deaths:' .. job, url, deaths .. ' ' .. ARGV[4])
if deaths >= tonumber(ARGV[5]) then
  fail(job, url, 'killed its worker ' .. deaths .. ' times (last: ' .. ARGV[6] .. ')')
  call('HDEL', P .. 'hand:' .. ARGV[1], ARGV[3])
end
return {'ok', task, deaths}
"""

# → 1 when there is a job and none has anything left
DONE = """
if call('EXISTS', P .. 'jobs') == 1 and call('SCARD', P .. 'open') == 0 then return 1 end
return 0
"""
