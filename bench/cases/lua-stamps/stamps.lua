-- Counts events of 200 moments of one second; arg[1] is when that second begins.
local start = tonumber(arg[1])
local moments = {}
for i = 1, 200 do moments[i] = start + i / 1024 end
local counts = {}
for round = 1, 15000 do
  for i = 1, 200 do
    local moment = moments[i]
    counts[moment] = (counts[moment] or 0) + 1
  end
end
local total = 0
for i = 1, 200 do total = total + counts[moments[i]] end
print(total)
