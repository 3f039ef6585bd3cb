import { z } from 'zod'
import { type AccompaniedWrite, accompanied, type Companion } from '../../core/barrier/companion.ts'
import type { ChangeRow, KeptChange } from '../../core/history/change-row.ts'
import { type Difference, differences, isSame, loggedNames } from '../../core/history/differences.ts'
import type { HistoryObject, HistoryStore } from '../../core/history/history-store.ts'
import { isUnreadable } from '../../core/records/stored-record.ts'
import { fail, refuse } from '../../errors.ts'
import { boolField, convertFields, FieldError } from '../../lib/text/fields.ts'
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseLossless,
  stringifyJson,
} from '../../lib/text/json.ts'
import { formatTime } from '../../lib/text/time.ts'
import { queryFields } from '../exchange/body.ts'
import type { Call } from '../exchange/call.ts'
import type { Reply } from '../exchange/envelope.ts'
import type { Exchange, Outcome, Sent } from '../exchange/exchange.ts'

/** What of a request says which object it is about. */
export type Place<Params> = Pick<Exchange<unknown, Params>, 'mount' | 'params'>

/**
 * Whose earlier forms are kept, and how they are written again. `rest` is what follows the beginning of the record's
 * key, or empty if the record is not known yet. docs/contract/history.md
 */
export type KeptHistory<Params> = {
  readonly store: HistoryStore
  /** The key of the record in the storage; if it ends in `/`, what the keys of such records begin with. */
  record(place: Place<Params>): Promise<string> | string
  /** The path of the object below its mount, in its one spelling: its history is read there. */
  path(place: Place<Params>, rest: string): string
  /**
   * The whole object as fields that a write of it takes, secrets included. Undefined: there is none. Called while the
   * record is being written: it must not wait for that.
   */
  form(place: Place<Params>, rest: string): Promise<object | undefined> | object | undefined
  /** Of an object whose path may change: what its history is kept under, instead of mount and path. */
  owner?(place: Place<Params>, rest: string): Promise<string> | string
  /** Fields with secrets in them, besides those that are only written. */
  readonly secrets?: readonly string[]
  /** The path is not the object's own, but that of a part of it, or another name of it. */
  readonly elsewhere?: 'part' | 'other name'
  /** Why a deleted object cannot be brought back. */
  readonly gone?: string
  /** The fields of a version, for an object as it is now. */
  adapt?(form: JsonObject, place: Place<Params>): Promise<object> | object
  /** Whether reading the object needs `sudo`; by default if the resource does. */
  needsSudo?(path: string): boolean
  /** A field that a write leaves out keeps its value, so that a revert sends those that differ only. */
  readonly mergesWrites?: true
  /** Fields that a restoring write may send too. */
  readonly besides?: readonly string[]
  /** Fields that say how one write is checked. They are not of the object, and a restoring write may send them too. */
  readonly ofTheWrite?: readonly string[]
}

export type AnyKept = KeptHistory<never>

/** What the wrapped verbs of a resource need to know of it. */
type KeptResource = {
  readonly kept: KeptHistory<unknown>
  /** The fields of a write of the object. */
  readonly fields: z.ZodObject
  readonly sudo: boolean
}

export const keptResource = (kept: AnyKept, fields: z.ZodObject, sudo: boolean): KeptResource => ({
  // what it is called with is always of the resource that declares it
  kept: kept as unknown as KeptHistory<unknown>,
  fields,
  sudo,
})

/** Query parameters of a read. */
export const historyQuery = z.object({
  history: boolField.optional().describe('true: the versions of the object instead of the object'),
  version: z
    .unknown()
    .optional()
    .meta({ type: 'integer', description: 'The object as it was at this version of its history' }),
})

/**
 * What the API document says of a write. `revert` is no parameter there: generated clients would have it before the body,
 * and programs that pass the body by its place would no longer compile.
 */
export const revertHint =
  'With the query parameter `revert=N` and no body: the object as it was at version N.'

type AnyExchange = Exchange<unknown, unknown>

/** The version that a write restores; undefined for another write. */
export function revertedVersion({ operation, query }: Call): number | undefined {
  if ((operation !== 'write' && operation !== 'patch') || !query.includes('revert')) return undefined
  const { revert } = queryFields(query)
  if (revert === undefined) return undefined
  if (operation === 'patch') throw refuse('invalid', 'a revert is a write, not a patch')
  return versionOf('revert', revert)
}

function versionOf(name: string, sent: JsonValue | undefined): number {
  if (typeof sent !== 'string' || !/^\d{1,10}$/.test(sent))
    throw refuse('invalid', `${name}: must be the number of a version`)
  return Number(sent)
}

/** The reply to a read with `history` or `version`; undefined for any other. */
export function historyReply(resource: KeptResource, exchange: AnyExchange): Promise<Reply> | undefined {
  const { query, sent } = exchange.call
  if (query === '') return undefined
  if (sent['version'] !== undefined)
    return shownVersion(resource, exchange, versionOf('version', sent['version']))
  return sent['history'] !== undefined && wantsHistory(sent) ? shownHistory(resource, exchange) : undefined
}

const wantsHistory = ({ history }: Sent): boolean =>
  convertFields(historyQuery, { history }).values.history === true

/** Runs a write or deletion, in whose commit the earlier form is kept. */
export async function keeping(
  { kept, fields, sudo }: KeptResource,
  exchange: AnyExchange,
  { schema, isDeletion, work }: { schema: z.ZodObject; isDeletion: boolean; work: () => Outcome },
): Promise<Reply | undefined> {
  const { store } = kept
  const { call, caller, mount } = exchange
  if (!store.isOn || caller === undefined) return await work()
  const record = await kept.record(exchange)
  const isFolder = record.endsWith('/')
  // also once the request is over, whatever goes on in the background
  let isWritten = false
  let isGone = false
  const entriesFor = async ({ key, before, after }: AccompaniedWrite) => {
    await store.confirmCopies()
    const rest = isFolder ? key.slice(record.length) : ''
    const { form, isReadable } = await currentForm(kept, fields, { exchange, rest })
    const operation = form === undefined && isReadable ? 'create' : isDeletion ? 'delete' : 'update'
    isGone = isDeletion && form !== undefined
    const changed = isDeletion
      ? []
      : changedNames(exchange, { kept, schema, form, stored: storedChanges(fields, before, after) })
    if (operation === 'update' && isReadable && changed.length === 0) return []
    const path = kept.path(exchange, rest)
    return store.entriesFor({
      operation: isDeletion ? 'delete' : operation,
      form,
      changed,
      path,
      ...(await objectAt(kept, exchange, rest)),
      mount: mount.uuid,
      namespace: mount.namespace,
      by: store.authorOf(caller.token),
      request_id: call.requestId,
      ...(call.restores === undefined ? {} : { restored: call.restores }),
      ...((kept.needsSudo?.(path) ?? sudo) && { sudo: true as const }),
    })
  }
  const companion: Companion = {
    concerns: (key) => !isWritten && (isFolder ? key.startsWith(record) : key === record),
    entriesFor,
    written: () => {
      isWritten = true
    },
  }
  try {
    return await accompanied(companion, async () => work())
  } finally {
    // the next deletion tries again
    if (isWritten && isGone) await store.trimDeleted(mount.namespace).catch(() => undefined)
    isWritten = true
  }
}

/** The object as it is now. One that cannot be read counts as changed by any write. */
async function currentForm(
  kept: KeptHistory<unknown>,
  fields: z.ZodObject,
  { exchange, rest }: { exchange: AnyExchange; rest: string },
): Promise<{ readonly form: JsonObject | undefined; readonly isReadable: boolean }> {
  try {
    return { form: bodyOf(fields, await kept.form(exchange, rest)), isReadable: true }
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return { form: undefined, isReadable: false }
  }
}

type WrittenFields = {
  readonly kept: KeptHistory<unknown>
  readonly schema: z.ZodObject
  readonly form: JsonObject | undefined
  /** The names of the fields that the record has under the same name, and that differ. */
  readonly stored: Iterable<string>
}

/** The changed fields: as the record tells, and for what it has under another name, as the write says. */
function changedNames(
  { call, sent, input }: AnyExchange,
  { kept, schema, form, stored }: WrittenFields,
): string[] {
  const isOfObject = (name: string) => kept.ofTheWrite?.includes(name) !== true
  if (form === undefined)
    return loggedNames(
      Object.keys(sent).filter((name) => Object.hasOwn(schema.shape, name) && isOfObject(name)),
    )
  const isPatch = call.operation === 'patch'
  const values: object = isPatch ? sent : (input ?? {})
  const before: Readonly<Record<string, unknown>> = isPatch ? form : valuesOf(schema, form)
  const named = Object.entries(values).filter(([name, value]) => value !== undefined && isOfObject(name))
  const known = Object.fromEntries(named.map(([name]) => [name, before[name]]))
  return loggedNames(new Set([...stored, ...differences(known, Object.fromEntries(named)).keys()]))
}

function storedChanges(fields: z.ZodObject, before: unknown, after: unknown): Iterable<string> {
  const known = (record: unknown) =>
    Object.fromEntries(Object.entries(Object(record)).filter(([name]) => Object.hasOwn(fields.shape, name)))
  return before === undefined || after === undefined ? [] : differences(known(before), known(after)).keys()
}

/** The form as a write of it is read. */
function valuesOf(schema: z.ZodObject, form: JsonObject): Readonly<Record<string, unknown>> {
  try {
    return convertFields(schema, form).values
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    return form
  }
}

/** The fields of the write that restores a version. Throws if there is no such version. */
export async function restoredFields(
  resource: KeptResource,
  exchange: AnyExchange,
  version: number,
): Promise<Sent> {
  const { kept, fields } = resource
  const { sent } = exchange
  const allowed = new Set([...(kept.besides ?? []), ...(kept.ofTheWrite ?? [])])
  const other = Object.keys(sent).find((name) => !allowed.has(name))
  if (other !== undefined) throw refuse('invalid', 'a revert takes no fields: it writes those of the version')
  const object = await objectOf(resource, exchange)
  const states = await statesOf(resource, exchange, object)
  const { form } = stateAt(states, version)
  if (states.isDeleted && kept.gone !== undefined) throw refuse('invalid', kept.gone)
  const adapted = kept.adapt === undefined ? form : await kept.adapt(form, exchange)
  const whole = bodyOf(fields, adapted) ?? {}
  const now = states.all.at(-1)?.form
  const changing = kept.mergesWrites === true && now !== undefined ? withoutSame(whole, now) : whole
  return { ...withoutUnset(fields, changing, now), ...sent }
}

const withoutSame = (form: JsonObject, now: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(form).filter(([name, value]) => !isSame(value, now[name])))

/** Leaves out fields that are empty before and after: writing one would mark it as set. */
function withoutUnset(fields: z.ZodObject, form: JsonObject, now: JsonObject | undefined): JsonObject {
  const usual: Readonly<Record<string, unknown>> = convertFields(fields, {}).values
  const stays = (name: string, value: JsonValue | undefined) =>
    hasNothing(value) && hasNothing(usual[name]) && (now === undefined || hasNothing(now[name]))
  return Object.fromEntries(Object.entries(form).filter(([name, value]) => !stays(name, value)))
}

const hasNothing = (value: unknown): boolean =>
  value === undefined || value === null || ['[]', '{}'].includes(stringifyJson(value))

/** The fields that a write takes; those without a value are not sent. */
function bodyOf(fields: z.ZodObject, form: object | undefined): JsonObject | undefined {
  if (form === undefined) return undefined
  const known = Object.entries(form).filter(([name]) => Object.hasOwn(fields.shape, name))
  return readForm(stringifyJson(Object.fromEntries(known)))
}

/** Numbers keep their text, as in a body. */
function readForm(text: string): JsonObject | undefined {
  const form = parseLossless(text)
  return isJsonObject(form) ? form : undefined
}

/** An object after one change. `change` is undefined for its form before the first change that is kept. */
type State = {
  readonly version: number
  readonly change: ChangeRow | undefined
  readonly form: JsonObject | undefined
}

type States = { readonly all: readonly State[]; readonly isDeleted: boolean }

/** The place of the history of a request. Throws on a path that shows only a part of the object, or another form. */
async function objectOf(resource: KeptResource, exchange: AnyExchange): Promise<HistoryObject> {
  const { kept } = resource
  const { call } = exchange
  if (!kept.store.isOn)
    throw refuse('invalid', 'this server keeps no history: GATEHOUSE_HISTORY_VERSIONS is 0')
  const path = kept.path(exchange, '')
  if (kept.elsewhere !== undefined || !isSpelled(path, call.below))
    throw refuse('invalid', `the history of this object is at ${shownPath(resource, exchange)}`)
  return objectAt(kept, exchange, '')
}

async function objectAt(
  kept: KeptHistory<unknown>,
  exchange: AnyExchange,
  rest: string,
): Promise<HistoryObject> {
  if (kept.owner !== undefined) return { owner: await kept.owner(exchange, rest), object: '' }
  return { owner: exchange.mount.uuid, object: kept.path(exchange, rest) }
}

const isSpelled = (path: string, below: string): boolean =>
  path.toLowerCase() === (below.endsWith('/') ? below.slice(0, -1) : below).toLowerCase()

/** All states that are known, the oldest first. The last one is the object as it is now. */
async function statesOf(
  { kept, fields }: KeptResource,
  exchange: AnyExchange,
  object: HistoryObject,
): Promise<States> {
  const changes = await kept.store.changesOf(object)
  const [first] = changes
  if (first === undefined) throw fail('missing', 'no change of this object is kept')
  // the object as it is now may be a copy
  await kept.store.confirmCopies()
  const now = bodyOf(fields, await kept.form(exchange, ''))
  const formAfter = (at: number): JsonObject | undefined => {
    const next = changes[at + 1]
    return next === undefined ? now : formOf(next)
  }
  const before = formOf(first)
  const all = changes.map((change, at): State => ({ version: change.version, change, form: formAfter(at) }))
  return {
    all:
      before === undefined ? all : [{ version: first.version - 1, change: undefined, form: before }, ...all],
    isDeleted: now === undefined,
  }
}

const formOf = ({ form }: KeptChange): JsonObject | undefined => (form === null ? undefined : readForm(form))

function stateAt({ all }: States, version: number): { state: State; form: JsonObject } {
  const state = all.find((one) => one.version === version)
  if (state === undefined)
    throw fail(
      'missing',
      `version ${version} is not kept; the versions are ${all[0]?.version} to ${all.at(-1)?.version}`,
    )
  if (state.form === undefined) throw fail('missing', `version ${version} is a deletion`)
  return { state, form: state.form }
}

const about = ({ version, change }: State) => ({
  version,
  time: change === undefined ? null : formatTime(change.at),
  operation: change?.operation ?? null,
  by: change?.by ?? null,
  request_id: change?.request_id ?? null,
  changed: change?.changed ?? [],
  ...(change?.restored === undefined ? {} : { restored: change.restored }),
})

async function shownHistory(resource: KeptResource, exchange: AnyExchange): Promise<Reply> {
  const object = await objectOf(resource, exchange)
  const states = await statesOf(resource, exchange, object)
  const isSecret = secretsOf(resource)
  const versions = states.all.map((state, at) => ({
    ...about(state),
    changes: shownDifferences(states.all[at - 1]?.form, state.form, isSecret),
  }))
  return {
    data: { path: shownPath(resource, exchange), deleted: states.isDeleted, versions: versions.toReversed() },
  }
}

function shownPath({ kept }: KeptResource, exchange: AnyExchange): string {
  const { path, below } = exchange.call
  return path.slice(0, path.length - below.length) + kept.path(exchange, '')
}

function shownDifferences(
  before: JsonObject | undefined,
  after: JsonObject | undefined,
  isSecret: (name: string) => boolean,
): Record<string, Difference | 'changed'> {
  if (before === undefined || after === undefined) return {}
  const found = [...differences(before, after)]
  // no prototype: a field may be named like a property of Object.prototype
  return Object.assign(
    Object.create(null),
    ...found.map(([name, difference]) => {
      const [field = ''] = name.split('.', 1)
      return isSecret(field) ? { [field]: 'changed' } : { [name]: difference }
    }),
  )
}

async function shownVersion(resource: KeptResource, exchange: AnyExchange, version: number): Promise<Reply> {
  const object = await objectOf(resource, exchange)
  const { state, form } = stateAt(await statesOf(resource, exchange, object), version)
  const isSecret = secretsOf(resource)
  const shown = Object.entries(form).filter(([name]) => !isSecret(name))
  const secrets = Object.entries(form).filter(([name, value]) => isSecret(name) && !isEmpty(value))
  return {
    data: {
      ...about(state),
      path: shownPath(resource, exchange),
      fields: Object.fromEntries(shown),
      secrets: secrets.map(([name]) => name),
    },
  }
}

const isEmpty = (value: JsonValue | undefined): boolean =>
  value === undefined || value === null || value === ''

function secretsOf({ kept, fields }: KeptResource): (name: string) => boolean {
  const writeOnly = Object.entries(fields.shape).flatMap(([name, field]) =>
    field.meta()?.['writeOnly'] === true ? [name] : [],
  )
  const names = new Set([...writeOnly, ...(kept.secrets ?? [])])
  return (name) => names.has(name)
}
