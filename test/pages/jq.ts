import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { StandIn } from './stand-ins.ts'

/**
 * The part of jq that our pages use, for machines without it: `jq -r .a.b[0]` prints one member of standard
 * input, or of a file, as plain text.
 */
export const jq: StandIn = {
  reads: '[ $# -lt 3 ]',
  perform: async ({ args, folder, stdin }) => {
    const [flag, path = '', file, ...others] = args
    if (flag !== '-r' || !/^(?:\.\w+(?:\[\d+\])?)+$/.test(path) || others.length > 0)
      throw new Error(`not a call of this page's: jq ${args.join(' ')}`)
    const document: unknown = JSON.parse(
      file === undefined ? stdin : readFileSync(resolve(folder, file), 'utf8'),
    )
    const value = path
      .match(/\w+/g)
      ?.values()
      // what is not an object has no members
      .reduce<unknown>(
        (found, name) => (found as Record<string, unknown> | null | undefined)?.[name],
        document,
      )
    return { output: `${typeof value === 'string' ? value : JSON.stringify(value ?? null)}\n` }
  },
}
