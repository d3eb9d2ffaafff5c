-- What scripts find in `wrk`, and the functions by which they are called. It runs before the script, in the same state.
-- Standard output belongs to the results, so whatever a script prints goes to standard error.
local given = ...
local concat, pairs, sort, tostring, type = table.concat, pairs, table.sort, tostring, type
local byte, find, sub = string.byte, string.find, string.sub
local new_table = require("table.new")

io.output(io.stderr)
io.stdout = io.stderr
function print(...)
   local words = {}
   for i = 1, select("#", ...) do
      words[i] = tostring((select(i, ...)))
   end
   io.stderr:write(concat(words, "\t"), "\n")
end

-- Each state has numbers of its own; each worker draws others, and the same ones whenever the seed is the same.
math.randomseed(given.seed)

wrk = {
   scheme = given.scheme,
   host = given.host,
   port = given.port,
   method = given.method,
   path = given.path,
   headers = given.headers,
   body = given.body,
   addrs = given.addrs,
   connect = given.connect,
}

function wrk.lookup(host, service)
   local found, why = given.lookup(host, service)
   if not found then
      error(why, 2)
   end
   return found
end

-- Used again by each call: what is left in it behind the last piece is not read.
local piece = {}

-- The names of the headers that were written last, in order: that of a table is another one in each process, and one seed is to send
-- the same bytes again.
local names, count = {}, 0

-- Are these the names of `headers`, all of them?
local function are_known(headers)
   local n = 0
   for _ in pairs(headers) do
      n = n + 1
   end
   if n ~= count then
      return false
   end
   for i = 1, n do
      if headers[names[i]] == nil then
         return false
      end
   end
   return true
end

local function by_text(one, other)
   return tostring(one) < tostring(other)
end

local function learn(headers)
   names, count = {}, 0
   for name in pairs(headers) do
      count = count + 1
      names[count] = name
   end
   sort(names, by_text)
end

function wrk.format(method, path, headers, body)
   headers = headers or wrk.headers
   body = body or wrk.body
   if not are_known(headers) then
      learn(headers)
   end
   piece[1] = method or wrk.method
   piece[2] = " "
   piece[3] = path or wrk.path
   piece[4] = " HTTP/1.1\r\n"
   local n = 4
   if not headers["Host"] then
      piece[5], piece[6], piece[7] = "Host: ", wrk.headers["Host"] or given.authority, "\r\n"
      n = 7
   end
   for i = 1, count do
      local name = names[i]
      if name ~= "Content-Length" then
         piece[n + 1], piece[n + 2], piece[n + 3], piece[n + 4] = name, ": ", tostring(headers[name]), "\r\n"
         n = n + 4
      end
   end
   if body then
      piece[n + 1], piece[n + 2] = "Content-Length: ", #body
      piece[n + 3], piece[n + 4] = "\r\n\r\n", body
      return concat(piece, "", 1, n + 4)
   end
   piece[n + 1] = "\r\n"
   return concat(piece, "", 1, n + 1)
end

local call = {}

-- A thread of wrk: `addr`, get(), set(), stop(). What is wrong is thrown at the line of whoever asked.
function call.thread(access)
   local methods = {}

   function methods.get(_, name)
      local why, value = access.get(name)
      if why then
         error(why, 2)
      end
      return value
   end

   function methods.set(_, name, value)
      local why = access.set(name, value)
      if why then
         error(why, 2)
      end
   end

   function methods.stop()
      local why = access.stop()
      if why then
         error(why, 2)
      end
   end

   local thread = newproxy(true)
   local meta = getmetatable(thread)

   function meta.__index(_, key)
      if key == "addr" then
         return access.addr()
      end
      return methods[key]
   end

   function meta.__newindex(_, key, value)
      if key ~= "addr" then
         error("a thread has no field " .. tostring(key) .. " that can be set: only addr; see thread:set(name, value)", 2)
      end
      local why = access.set_addr(value)
      if why then
         error(why, 2)
      end
   end

   meta.__metatable = false
   return thread
end

function call.has(name)
   return type(_G[name]) == "function"
end

-- In the state that has no worker.
function call.setup(thread)
   if type(setup) == "function" then
      setup(thread)
   end
end

-- In a worker's state.
function call.init(thread, args)
   wrk.thread = thread
   wrk.headers["Host"] = wrk.headers["Host"] or given.authority
   if type(init) == "function" then
      init(args)
   end
   local fixed = wrk.format()
   function wrk.request()
      return fixed
   end
end

-- Scripts may replace the functions as they go.
function call.request()
   local text
   if request then
      text = request()
   else
      text = wrk.request()
   end
   local kind = type(text)
   if kind ~= "string" then
      kind = kind == "nil" and "nothing" or kind == "number" and "a number" or kind
      error("request() must return a whole request as a string, such as that of wrk.format(): it returned " .. kind, 0)
   end
   return text
end

-- Blanks in ASCII.
local is_blank = { [9] = true, [10] = true, [12] = true, [13] = true, [32] = true }

-- The head that was read last, and its headers in order: most answers have the same one as the answer before.
local known
local fields, values, fields_count = {}, {}, 0

-- Reads the headers of a head, behind its first line. Here, since each text that is handed over costs more than that.
local function read(head)
   known, fields_count = head, 0
   local stop = find(head, "\n", 1, true)
   while stop do
      local start = stop + 1
      stop = find(head, "\n", start, true)
      local last = (stop or #head + 1) - 1
      local colon = find(head, ":", start, true)
      if not colon then
         break
      end
      if colon <= last then
         local first = colon + 1
         while first <= last and is_blank[byte(head, first)] do
            first = first + 1
         end
         while last >= first and is_blank[byte(head, last)] do
            last = last - 1
         end
         fields_count = fields_count + 1
         fields[fields_count], values[fields_count] = sub(head, start, colon - 1), sub(head, first, last)
      end
   end
end

-- The headers of a head, in a table of the script's own.
local function headers_of(head)
   if head ~= known then
      read(head)
   end
   local headers = new_table(0, fields_count)
   for i = 1, fields_count do
      headers[fields[i]] = values[i]
   end
   return headers
end

function call.response(status, head, body)
   if response then
      response(status, headers_of(head), body)
   end
end

function call.delay()
   return delay()
end

-- In the state that has no worker.
function call.done(summary, latency, requests)
   if type(done) == "function" then
      done(summary, latency, requests)
   end
end

return call
