import { readFileSync } from 'node:fs'

/**
 * The part of jq that our pages use, for machines without it: `jq -r .a.b[0]` prints one member of standard
 * input, or of a file, as plain text.
 */
const [flag, path = '', file = '/dev/stdin', ...others] = process.argv.slice(2)
if (flag !== '-r' || !/^(?:\.\w+(?:\[\d+\])?)+$/.test(path) || others.length > 0)
  throw new Error(`not a call of this page's: jq ${process.argv.slice(2).join(' ')}`)

const document: unknown = JSON.parse(readFileSync(file, 'utf8'))
const value = path
  .match(/\w+/g)
  ?.values()
  // what is not an object has no members
  .reduce<unknown>((found, name) => (found as Record<string, unknown> | null | undefined)?.[name], document)
console.log(typeof value === 'string' ? value : JSON.stringify(value ?? null))
