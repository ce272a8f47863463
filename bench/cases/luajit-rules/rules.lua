-- Applies rules to readings; arg[1] is how many rules there are. All together do the same work however many they are.
local count = tonumber(arg[1])
local rules = {}
for i = 1, count do
  rules[i] = assert(loadstring(([[
    return function(first, last)
      local sum = 0
      for reading = first, last do sum = (sum + reading * %d) %% 1048573 end
      return sum
    end]]):format(i % 100 + 3)))()
end
local total, calls = 0, 0
while calls < 90000 do
  for i = 1, count do
    total = total + rules[i](1, 400) % 2
    calls = calls + 1
  end
end
print(total > 0)
