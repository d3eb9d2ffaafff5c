-- Each request asks for an item, a random one of 1,000, and every tenth puts it into a cart.
-- What it does is also said by a template: docs/scripts.md.
local count = 0

function init(args)
   wrk.headers["X-Client"] = args[1] or "script"
end

function request()
   count = count + 1
   local item = math.random(1000)
   if count % 10 == 0 then
      return wrk.format("POST", "/cart", nil, "item=" .. item)
   end
   return wrk.format("GET", "/items/" .. item)
end

function done(summary, latency, requests)
   io.write(string.format("%d answers, p99 %.1f ms\n", summary.requests, latency:percentile(99) / 1000))
end
