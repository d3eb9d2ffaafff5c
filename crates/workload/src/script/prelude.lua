-- What scripts find in `wrk`, and the functions by which they are called. It runs before the script, in the same state.
-- Standard output belongs to the results, so whatever a script prints goes to standard error.
local given = ...
local concat, pairs, tostring, type = table.concat, pairs, tostring, type

io.output(io.stderr)
io.stdout = io.stderr
function print(...)
   local words = {}
   for i = 1, select("#", ...) do
      words[i] = tostring((select(i, ...)))
   end
   io.stderr:write(concat(words, "\t"), "\n")
end

-- Each worker draws other numbers, and the same ones whenever the seed is the same.
local draw, floor = given.draw, math.floor

function math.randomseed(seed)
   draw(tonumber(seed) or 0)
end

function math.random(low, high)
   local drawn = draw()
   if not low then
      return drawn
   end
   if not high then
      low, high = 1, low
   end
   low, high = floor(low), floor(high)
   if low > high then
      error("math.random: the interval is empty", 2)
   end
   return low + floor(drawn * (high - low + 1))
end

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

function wrk.format(method, path, headers, body)
   headers = headers or wrk.headers
   body = body or wrk.body
   piece[1] = method or wrk.method
   piece[2] = " "
   piece[3] = path or wrk.path
   piece[4] = " HTTP/1.1\r\n"
   local n = 4
   if not headers["Host"] then
      piece[5], piece[6], piece[7] = "Host: ", wrk.headers["Host"] or given.authority, "\r\n"
      n = 7
   end
   for name, value in pairs(headers) do
      if name ~= "Content-Length" then
         piece[n + 1], piece[n + 2], piece[n + 3], piece[n + 4] = name, ": ", tostring(value), "\r\n"
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
   if request then
      return request()
   end
   return wrk.request()
end

function call.response(status, headers, body)
   if response then
      response(status, headers, body)
   end
end

-- In the state that has no worker.
function call.done(summary, latency, requests)
   if type(done) == "function" then
      done(summary, latency, requests)
   end
end

return call
