import { expect, test } from 'vitest'
import { shared } from '../../../support/shared.ts'
import { openDesk, verdict } from './desk.ts'

const sharedDesk = shared(() => openDesk())

/** Programs whose text is the answer; CEL's own cases are in conformance.test.ts. */
test.each([
  ['"a,b,c".split(",", 2)[1]', 'b,c'],
  ['"%s-%d-%x".format(["a", 1, "ab"])', 'a-1-6162'],
  ['strings.quote("x\\"y")', '"x\\"y"'],
  ['string("aaaa".matches("^(a+)+$"))', 'true'],
  ['string(int("5")) + string(uint("5")) + string(double("1.5"))', '551.5'],
  ['string(b"é")', 'é'],
  ['r"\\d"', '\\d'],
  ['string(duration("1h"))', '3600s'],
  [
    'string(duration("3\u00b5s") == duration("3us")) + string(duration("3\u03bcs") == duration("3us"))',
    'truetrue',
  ],
  ['string(now.getFullYear("UTC") > 2000)', 'true'],
  ['string(timestamp("2024-01-02T03:04:05Z").getHours("Europe/Berlin"))', '4'],
  ['string(timestamp("2024-01-02T03:04:05Z").getHours("-02:30"))', '0'],
  ['regex.replace("abc", "(b)", "<\\\\1>")', 'a<b>c'],
  ['regex.extract("abc", "b(c)").value()', 'c'],
  ['regex.extractAll("a1b2", "[0-9]").join(",")', '1,2'],
  ['string([1, 2, 3].slice(0, 2) == [1, 2]) + string([[1], [2]].flatten() == [1, 2])', 'truetrue'],
  ['[{"n": 2, "k": "b"}, {"n": 1, "k": "a"}].sortBy(e, e.n)[0].k', 'a'],
  ['string([1, 1].distinct() == [1]) + string([2, 1].sort() == [1, 2])', 'truetrue'],
  ['string([1, 2].first().value()) + string([1, 2].last().value())', '12'],
  ['string(math.greatest(1, 2)) + string(math.least([1, 2])) + string(math.sqrt(4))', '212'],
  ['string(sets.contains(["a", "b"], ["a"])) + string(sets.intersects(["a"], ["b"]))', 'truefalse'],
  ['claims.?nope.orValue("d") + claims[?"sub"].orValue("d")', 'djoe'],
  ['claims.?sub.optMap(x, x + "1").orValue("n")', 'joe1'],
  ['claims.?sub.orValue(claims.nope)', 'joe'],
  ['string([?optional.none(), 1].size()) + string({?"a": optional.none()}.size())', '10'],
  ['base64.encode(b"a") + string(base64.decode("YQ=="))', 'YQ==a'],
  ['encode_json({"b": [1, null, 1.5, true], "a": {"x": "y"}})', '{"a":{"x":"y"},"b":[1,null,1.5,true]}'],
  ['string(encode_json([1])) + string(encode_json("x"))', 'falsefalse'],
  ['string(decode_json("{\\"a\\":1}").a) + string(decode_json("bad"))', '1false'],
  ['string(check_valid_email("a@b.c")) + string(check_valid_email("A B <a@b.c>"))', 'truetrue'],
  [
    '["nope", "a@", "@b", "a b@c.d", "<a@b.c", "a@b@c"].map(e, string(check_valid_email(e))).join(" ")',
    'false false false false false false',
  ],
  ['string({"__proto__": 1}["__proto__"]) + string("constructor" in {"a": 1})', '1false'],
  ['string("" in {"": 1}) + string(1 in {1: 2}) + string(1.0 in {1: 2})', 'truetruetrue'],
])('%s is %s', async (expression, text) => {
  const { judge } = await sharedDesk()

  expect(verdict(await judge(expression))).toBe(
    `400 error executing cel program: CEL role 'r' blocked authorization with message: ${text}`,
  )
})

test.each([
  'cel.bind(x, 1, x)',
  '[1].transformList(i, v, v)',
  'hash("x")',
  'ip("127.0.0.1")',
  'url("x")',
  'semver("1.0.0")',
])('%s does not exist', async (expression) => {
  const { judge } = await sharedDesk()

  expect(verdict(await judge(`string(${expression})`))).toMatch(
    /^400 (error type-checking CEL MainProgram|invalid CEL syntax for main expression): ERROR: <input>:/,
  )
})
