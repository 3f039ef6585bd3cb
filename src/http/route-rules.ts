import { z } from 'zod'
import type { Secrets } from '../core/audit/hashing.ts'
import { convertFields, readingOf } from '../lib/fields.ts'
import type { JsonValue } from '../lib/json.ts'
import { type Converted, callOf } from './call.ts'
import type { RouteRules, VerbName } from './exchange.ts'
import { onHangUp, onLastByte } from './hang-up.ts'
import { tokenOf } from './request-headers.ts'
import { type AnySpec, type AnyVerb, none } from './resource-spec.ts'

/** What admission and the pipeline need to know about one verb of a resource. */
export function rulesOf(
  spec: AnySpec,
  operation: VerbName | 'header',
  verb: AnyVerb | undefined,
  captures: readonly string[],
): RouteRules {
  // made by the first request that needs it: schemas take time and memory
  let schema: z.ZodObject | undefined
  let secrets: Secrets | undefined
  const dropsSlash =
    spec.dropsSlash === true && verb !== undefined && operation !== 'list' && operation !== 'scan'
  return {
    open: spec.open === true || spec.caller !== undefined,
    caller: spec.caller ?? 'none',
    sudo: spec.sudo === true,
    precheck: spec.precheck,
    follows: spec.follows,
    refusedCaller: spec.refusedCaller,
    canonical: spec.canonical,
    dropsSlash,
    namesRequest: spec.namesRequest === true,
    isCeremony: spec.isCeremony === true,
    whileRemoved: spec.whileRemoved === true,
    wrapsWithoutToken: spec.wrapsWithoutToken === true,
    exists:
      operation === 'write' && spec.exists !== undefined ? (spec.exists as RouteRules['exists']) : undefined,
    secrets: () => (secrets ??= { fields: secretFieldsOf(verb?.input), values: spec.secretValues }),
    readings(name) {
      if (verb?.input === undefined || verb.anyFields === true) return 'plain'
      schema ??= inputOf(operation, verb)
      return readingOf(schema, name)
    },
    convert(call) {
      schema ??= inputOf(operation, verb)
      const converted = convert(schema, call.sent, captures)
      if (converted.unknown.length === 0) return converted
      const isElsewhere = (name: string) => verb?.anyFields === true || isDeclared(spec, name)
      return { ...converted, unknown: converted.unknown.filter((name) => !isElsewhere(name)) }
    },
    exchange(request) {
      const call = callOf(request.raw)
      if (call.mount === undefined) throw new Error('a plugin was reached without a mount')
      return {
        call,
        mount: call.mount,
        params: captures.length === 0 ? {} : capturesOf(request.params, captures, dropsSlash),
        input: call.converted?.values,
        sent: call.sent,
        caller: call.caller,
        presented: () => tokenOf(request.raw),
        header: (name) => {
          const value = request.raw.headers[name]
          return Array.isArray(value) ? value[0] : value
        },
        whenGone: (listener) => onHangUp(request.raw, listener),
        whenSilent: (listener) => onLastByte(request.raw, listener),
      }
    },
  }
}

function capturesOf(
  params: unknown,
  captures: readonly string[],
  dropsSlash: boolean,
): Record<string, string> {
  const { '*': rest, ...named } = params as Record<string, string>
  if (rest === undefined) return named
  return {
    ...named,
    [captures.at(-1) ?? 'rest']: dropsSlash && rest.endsWith('/') ? rest.slice(0, -1) : rest,
  }
}

function secretFieldsOf(input: z.ZodObject | undefined): ReadonlySet<string> {
  const fields = Object.entries(input?.shape ?? {})
  return new Set(fields.flatMap(([name, field]) => (field.meta()?.['writeOnly'] === true ? [name] : [])))
}

/** Every list takes `after` and `limit`. docs/contract/http.md#verbs-and-paths */
const paging = z.object({
  after: z.unknown().meta({ type: 'string', description: 'List the names after this one' }).optional(),
  limit: z
    .unknown()
    .meta({ type: 'integer', description: 'List at most this many names; 0 for all' })
    .optional(),
})

/** The fields that a verb takes. */
export function inputOf(operation: string, verb: AnyVerb | undefined): z.ZodObject {
  const declared = verb?.input ?? none
  return operation === 'list' || operation === 'scan' ? paging.extend(declared.shape) : declared
}

/** Whether a verb of the path has a field of this name. docs/contract/http.md#answers */
const isDeclared = ({ read, write, patch, delete: remove }: AnySpec, name: string): boolean =>
  [read, write, patch, remove].some(
    (verb) => verb?.input !== undefined && Object.hasOwn(verb.input.shape, name),
  )

function convert(
  schema: z.ZodObject,
  sent: Record<string, JsonValue>,
  captures: readonly string[],
): Converted {
  const replaced = captures.filter((name) => name !== 'rest' && Object.hasOwn(sent, name))
  const fields =
    replaced.length === 0
      ? sent
      : Object.fromEntries(Object.entries(sent).filter(([name]) => !replaced.includes(name)))
  const { values, unknown } = convertFields(schema, fields)
  // null is no value
  return { values, unknown, replaced: replaced.filter((name) => sent[name] !== null) }
}
