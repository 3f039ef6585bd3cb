import { z } from 'zod'
import type { Core } from '../../core/open/core.ts'
import { checkRecordSize } from '../../core/records/stored-record.ts'
import { KeyLists } from '../../core/sealed-names/key-lists.ts'
import { pageOf } from '../../core/sealed-names/sorted-names.ts'
import type { Cubbyhole } from '../../core/wrapping/cubbyholes.ts'
import { isWrapping } from '../../core/wrapping/wrapper.ts'
import { refuse } from '../../errors.ts'
import { type Exchange, limitOf, type Resource, resource } from '../../http/resource/resource.ts'

/** Of an entry, in bytes. */
const maxPathLength = 1024

const oldUnwrapWarning =
  "Reading from 'cubbyhole/response' is deprecated. Please use sys/wrapping/unwrap, which makes sure that the token is a wrapping token."

/** One private store per service token. docs/contract/wrapping.md#cubbyhole */
export function cubbyholeResources({ cubbyholes, tokens }: Pick<Core, 'cubbyholes' | 'tokens'>): Resource[] {
  const storeOf = ({ caller, mount }: Exchange<unknown, unknown>): Cubbyhole => {
    if (caller === undefined || caller.token.type !== 'service')
      throw refuse('invalid', "cubbyhole operations are only supported by 'service' type tokens")
    const store = cubbyholes.of(caller.token, mount.namespace)
    if (store === undefined) throw refuse('denied', 'permission denied')
    return store
  }
  const entryOf = (
    exchange: Exchange<unknown, { rest: string }>,
  ): { view: Cubbyhole['view']; key: string } => {
    const { view, cipher } = storeOf(exchange)
    if (exchange.params.rest === '') throw refuse('invalid', 'missing path')
    return { view, key: cipher.keyOf(exchange.params.rest) }
  }

  return [
    resource('/*', {
      help: 'A private store for one token, deleted with the token.',
      exists: async (exchange) => {
        if (exchange.params.rest === '') return false
        const { view, key } = entryOf(exchange)
        // the entry may be large, so only its key is read
        return (await view.listKeys(key, { limit: 1 })).includes(key)
      },
      read: {
        summary: 'Read an entry',
        output: z.object({}).loose(),
        example: { password: 'secret' },
        anyFields: true,
        handle: async (exchange) => {
          const { view, key } = entryOf(exchange)
          const data = await view.get(key)
          if (typeof data !== 'object' || data === null) return undefined
          const { caller } = exchange
          return caller !== undefined && isWrapping(caller.token)
            ? { data, warnings: [oldUnwrapWarning] }
            : { data }
        },
      },
      write: {
        summary: 'Write an entry',
        anyFields: true,
        handle: async (exchange) => {
          const { view, key } = entryOf(exchange)
          const { caller, sent } = exchange
          if (Object.keys(sent).length === 0) throw refuse('invalid', 'missing data fields')
          checkPath(exchange.params.rest)
          checkRecordSize(sent)
          // this was the token's last use: nobody could read the entry
          if (caller === undefined || caller.token.num_uses < 0) return undefined
          await view.write([{ key, value: sent }])
          // if the token ended meanwhile, its cubbyhole may have been emptied before this write
          if (!(await tokens.isStillValid(caller.token))) await cubbyholes.empty(caller.token)
        },
      },
      list: {
        summary: 'List entries',
        handle: async (exchange) => {
          const { view, cipher } = storeOf(exchange)
          const { after, limit } = exchange.sent
          const names = await new KeyLists(view, cipher).namesIn(exchange.params.rest)
          const range = { after: typeof after === 'string' ? after : '', limit: limitOf(limit) }
          return { data: { keys: pageOf(names, range) }, paged: true }
        },
      },
      delete: {
        summary: 'Delete an entry',
        handle: async (exchange) => {
          const { view, key } = entryOf(exchange)
          await view.write([{ key, value: undefined }])
        },
      },
    }),
  ]
}

/** Throws for a path that is too long: paths become keys in list responses. */
function checkPath(path: string): void {
  const bytes = Buffer.byteLength(path)
  if (bytes > maxPathLength)
    throw refuse(
      'invalid',
      `put failed due to key being too large; got ${bytes} bytes, max: ${maxPathLength} bytes`,
    )
}
