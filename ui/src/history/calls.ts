import * as v from 'valibot'
import { checked, defineCall, send } from '../api/client.ts'
import { ApiError } from '../api/errors.ts'
import { encodedPath } from '../api/request.ts'

const version = v.object({
  version: v.number(),
  /** Null for the form before the first change that is kept. */
  time: v.nullable(v.string()),
  operation: v.nullable(v.picklist(['create', 'update', 'delete'])),
  by: v.nullable(v.object({ display_name: v.string() })),
  /** The names of the fields that the write has set. */
  changed: v.array(v.string()),
  /** By the names of the fields whose value differs. */
  changes: v.record(v.string(), v.unknown()),
  restored: v.optional(v.number()),
})

export type Version = v.InferOutput<typeof version>

const history = v.object({ data: v.object({ deleted: v.boolean(), versions: v.array(version) }) })
const oneVersion = v.object({
  data: v.object({ fields: v.record(v.string(), v.unknown()), secrets: v.array(v.string()) }),
})

type Asked = { readonly path: string; readonly signal: AbortSignal }

/** The versions of an object, the latest first; none if no change of it is kept, or the server keeps no history. */
export async function historyOf({ path, signal }: Asked): Promise<readonly Version[]> {
  try {
    const answer = await send({ method: 'GET', path: encodedPath(path), query: { history: 'true' }, signal })
    return checked(history, answer).data.versions
  } catch (failure) {
    if (failure instanceof ApiError && [400, 404].includes(failure.status)) return []
    throw failure
  }
}

export const deletedObjects = defineCall(
  'get',
  '/sys/history/deleted',
  v.object({
    data: v.object({
      deleted: v.array(
        v.object({
          path: v.string(),
          time: v.string(),
          version: v.number(),
          by: v.object({ display_name: v.string() }),
          restorable: v.boolean(),
        }),
      ),
      next: v.optional(v.string()),
    }),
  }),
)

export type DeletedObject = Awaited<ReturnType<typeof deletedObjects>>['data']['deleted'][number]

/** The fields that a write of the object would have sent at this version, without its secrets. */
export async function fieldsAt(number: number, { path, signal }: Asked) {
  const query = { version: String(number) }
  return checked(oneVersion, await send({ method: 'GET', path: encodedPath(path), query, signal })).data
}

/** Writes the object as it was at a version. */
export const revertTo = (number: number, path: string, query: Readonly<Record<string, string>>) =>
  send({ method: 'POST', path: encodedPath(path), query: { ...query, revert: String(number) } })
