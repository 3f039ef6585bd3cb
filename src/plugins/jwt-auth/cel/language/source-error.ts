/** A program that is not valid CEL. The message has the place: `ERROR: <input>:1:5: …`. */
export class SourceError extends Error {
  override readonly name = 'SourceError'

  constructor(source: string, at: number, problem: string) {
    super(`ERROR: <input>:${placeOf(source, at)}: ${problem}`)
  }
}

/** A program is larger than the limits. docs/limits.md#cel-programs */
export class SizeError extends Error {
  override readonly name = 'SizeError'
}

/** Line and column, both from 1. */
function placeOf(source: string, at: number): string {
  const before = source.slice(0, at).split('\n')
  return `${before.length}:${[...(before.at(-1) ?? '')].length + 1}`
}
