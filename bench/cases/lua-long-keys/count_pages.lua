-- Which pages were asked for most, and how many bytes each of them cost.
local file, times = arg[1], tonumber(arg[2])

for _ = 1, times do
  local requests, bytes = {}, {}
  for line in io.lines(file) do
    local page, status, size = line:match("^GET (%S+) (%d+) (%d+)$")
    if status == "200" then
      requests[page] = (requests[page] or 0) + 1
      bytes[page] = (bytes[page] or 0) + tonumber(size)
    end
  end
  local pages = {}
  for page in pairs(requests) do
    pages[#pages + 1] = page
  end
  table.sort(pages, function(one, other)
    if requests[one] ~= requests[other] then
      return requests[one] > requests[other]
    end
    return one < other
  end)
  for place = 1, 10 do
    local page = pages[place]
    print(requests[page], bytes[page], page)
  end
end
