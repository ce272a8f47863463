import rapidjson


class Decoder(rapidjson.Decoder):
    def end_array(self, sequence):
        return list(sequence)


decode = Decoder()
text = '{"rows": [' + ", ".join(str(number) for number in range(200)) + "]}"
for _ in range(20000):
    decode(text)
