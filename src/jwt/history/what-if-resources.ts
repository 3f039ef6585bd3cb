import type { z } from 'zod'
import {
  type Captures,
  checkMayReach,
  type Exchange,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { type TriedChange, tried } from './tried-change.ts'
import { whatIfAnswer } from './what-if-answers.ts'

type Spec<Path extends string, Input extends z.ZodObject, Stored extends { readonly record: object }> = {
  /** Names the changed object in the help. */
  readonly subject: string
  readonly summary: string
  /** Those of a write. */
  readonly input: Input
  change(exchange: Exchange<z.output<Input>, Captures<Path>>): TriedChange<Stored>
}

/**
 * Tries a write on recent logins, without making it. `path` is that of the write, with `/what-if` behind it.
 * docs/contract/what-if.md
 */
export const whatIfResource = <
  const Path extends string,
  Input extends z.ZodObject,
  Stored extends { readonly record: object },
>(
  path: Path,
  { subject, summary, input, change }: Spec<Path, Input, Stored>,
): Resource => {
  // names of roles are lower-case
  const canonical = (below: string) => (path.includes(':name') ? below.toLowerCase() : below)
  return resource(path, {
    help: `Who would lose or gain access by a write of the ${subject}, which is not made.`,
    passesReadOnly: true,
    canonical,
    write: {
      summary,
      ...whatIfAnswer,
      input,
      handle: async (exchange) => {
        const { call, sent: fields } = exchange
        const written = canonical(call.below).replace(/\/what-if\/?$/, '')
        checkMayReach(exchange, { operation: 'update', path: written, fields, canonical })
        return { data: await tried(exchange, change(exchange)) }
      },
    },
  })
}
