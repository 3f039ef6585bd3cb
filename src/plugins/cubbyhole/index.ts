import type { FastifyPluginAsync } from 'fastify'
import type { Caller } from '../../core/access.ts'
import type { View } from '../../core/barrier/view.ts'
import { refuse } from '../../errors.ts'
import { resource } from '../../http/resource.ts'

/** Where the private store of a token lies; the token store empties it when the token ends. */
export const cubbyholePrefix = (cubbyholeId: string) => `${cubbyholeId}/`

/** One private store per service token. Contract core-http §9.4. */
export const cubbyhole: FastifyPluginAsync<{ view: View }> = async (app, { view }) => {
  const storeOf = (caller: Caller | undefined): string => {
    if (caller === undefined || caller.token.type !== 'service')
      throw refuse('invalid', "cubbyhole operations are only supported by 'service' type tokens")
    return cubbyholePrefix(caller.token.cubbyhole_id)
  }
  const keyOf = (caller: Caller | undefined, path: string): string => {
    const store = storeOf(caller)
    if (path === '') throw refuse('invalid', 'missing path')
    return store + path
  }

  resource(app, '/*', {
    help: 'A private store, gone with the token it belongs to.',
    exists: async ({ caller, params }) => params.rest !== '' && (await view.get(keyOf(caller, params.rest))) !== undefined,
    read: {
      summary: 'Read an entry',
      anyFields: true,
      handle: async ({ caller, params }) => {
        const data = await view.get(keyOf(caller, params.rest))
        return typeof data === 'object' && data !== null ? { data } : undefined
      },
    },
    write: {
      summary: 'Write an entry',
      anyFields: true,
      handle: async ({ caller, params, sent }) => {
        const key = keyOf(caller, params.rest)
        if (Object.keys(sent).length === 0) throw refuse('invalid', 'missing data fields')
        await view.write([{ key, value: sent }])
        return undefined
      },
    },
    list: {
      summary: 'List entries',
      handle: async ({ caller, params }) => {
        const prefix = storeOf(caller) + params.rest
        const keys = await view.listKeys(prefix)
        return { data: { keys: [...new Set(keys.map((key) => nextLevel(key.slice(prefix.length))))] } }
      },
    },
    delete: {
      summary: 'Delete an entry',
      handle: async ({ caller, params }) => {
        await view.write([{ key: keyOf(caller, params.rest), value: undefined }])
        return undefined
      },
    },
  })
}

function nextLevel(rest: string): string {
  const slash = rest.indexOf('/')
  return slash < 0 ? rest : rest.slice(0, slash + 1)
}
