import fc from 'fast-check'

const surrogates = { first: 0xd800, count: 0x800 }

/** Any character: the unit `binary` of fast-check, which first makes a table of all, for seconds. */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10_ffff - surrogates.count })
  .map((at) => String.fromCodePoint(at < surrogates.first ? at : at + surrogates.count))
