import { z } from 'zod'
import type { Secrets } from '../../core/audit/hashing.ts'
import type { WindowEffect } from '../../core/settings/announcements.ts'
import { readingOf } from '../../lib/text/fields.ts'
import type { RouteRules, Sent, VerbName } from '../exchange/exchange.ts'
import { tokenOf } from '../exchange/request-headers.ts'
import { onHangUp, onLastByte } from '../wire/hang-up.ts'
import { keptResource, restoredFields } from './kept-history.ts'
import { type AnySpec, type AnyVerb, none } from './resource-spec.ts'
import { refuseUnbuiltLimits } from './unbuilt-limits.ts'

/** What admission and the pipeline need to know about one verb of a resource. */
export function rulesOf(
  spec: AnySpec,
  operation: VerbName | 'header',
  verb: AnyVerb | undefined,
  captures: readonly string[],
): RouteRules {
  let secrets: Secrets | undefined
  const dropsSlash =
    spec.dropsSlash === true && verb !== undefined && operation !== 'list' && operation !== 'scan'
  const schema = inputOf(operation, verb)
  return {
    open: isOpen(spec),
    isLogin: isOpen(spec) && verb?.form === 'auth',
    caller: spec.caller ?? 'none',
    sudo: spec.sudo === true,
    precheck: spec.precheck,
    follows: spec.follows,
    refusedCaller: spec.refusedCaller,
    restore: operation === 'write' ? restoreOf(spec) : undefined,
    canonical: spec.canonical,
    dropsSlash,
    namesRequest: spec.namesRequest === true,
    isCeremony: spec.isCeremony === true,
    whileRemoved: spec.whileRemoved === true,
    haltedBy: verb === undefined ? [] : haltsOf(spec, operation, verb),
    wrapsWithoutToken: spec.wrapsWithoutToken === true,
    exists:
      operation === 'write' && spec.exists !== undefined ? (spec.exists as RouteRules['exists']) : undefined,
    secrets: () => (secrets ??= { fields: secretFieldsOf(verb?.input), values: spec.secretValues }),
    schema,
    readings: (name) =>
      verb?.input === undefined || verb.anyFields === true ? 'plain' : readingOf(schema, name),
    fieldsOf: ({ sent }) => withoutCaptures(sent, captures),
    checkUndeclared: ({ sent, converted }) => {
      if (verb?.anyFields !== true) refuseUnbuiltLimits(converted?.unknown ?? [], sent)
    },
    warnings: ({ sent, converted }) => {
      const isElsewhere = (name: string) => verb?.anyFields === true || isDeclared(spec, name)
      return warningsOf({
        unknown: (converted?.unknown ?? []).filter((name) => !isElsewhere(name)),
        // null is no value
        replaced: captures.filter((name) => isReplaced(sent, name) && sent[name] !== null),
      })
    },
    exchange(request, call) {
      if (call.mount === undefined) throw new Error('a plugin was reached without a mount')
      return {
        call,
        mount: call.mount,
        params: captures.length === 0 ? {} : capturesOf(request.params, captures, dropsSlash),
        input: call.converted?.values,
        sent: call.sent,
        caller: call.caller,
        presented: () => tokenOf(request.raw),
        clientCertificate: () => request.raw.socket.clientCertificateSha256,
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

function restoreOf({ history, write, sudo = false }: AnySpec): RouteRules['restore'] {
  if (history === undefined) return undefined
  const resource = keptResource(history, write?.input ?? none, sudo)
  return (exchange, version) => restoredFields(resource, exchange, version)
}

/** docs/contract/message-windows.md#effects */
function haltsOf(spec: AnySpec, operation: string, verb: AnyVerb): WindowEffect[] {
  const isWrite = operation === 'write' || operation === 'patch' || operation === 'delete'
  const isLogin = isOpen(spec) && verb.form === 'auth'
  const passes = spec.passesReadOnly === true || spec.isCeremony === true || isLogin
  return [
    ...(isWrite && !passes ? (['read_only'] as const) : []),
    ...(spec.issuesCredentials === true ? (['no_new_credentials'] as const) : []),
  ]
}

const isOpen = ({ open, caller }: AnySpec): boolean => open === true || caller !== undefined

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
  const declared = verb?.input
  if (operation !== 'list' && operation !== 'scan') return declared ?? none
  return declared === undefined ? paging : paging.extend(declared.shape)
}

/** Whether a verb of the path has a field of this name. docs/contract/http.md#answers */
const isDeclared = ({ read, write, patch, delete: remove }: AnySpec, name: string): boolean =>
  [read, write, patch, remove].some(
    (verb) => verb?.input !== undefined && Object.hasOwn(verb.input.shape, name),
  )

/** Whether a field has the name of a part of the path, which counts instead. */
const isReplaced = (sent: Sent, capture: string): boolean =>
  capture !== 'rest' && Object.hasOwn(sent, capture)

function withoutCaptures(sent: Sent, captures: readonly string[]): Sent {
  const replaced = captures.filter((name) => isReplaced(sent, name))
  return replaced.length === 0
    ? sent
    : Object.fromEntries(Object.entries(sent).filter(([name]) => !replaced.includes(name)))
}

function warningsOf({ unknown, replaced }: { unknown: string[]; replaced: string[] }): string[] {
  const warnings: string[] = []
  if (unknown.length > 0)
    warnings.push(`Endpoint ignored these unrecognized parameters: [${unknown.join(' ')}]`)
  if (replaced.length > 0) {
    warnings.push(
      `Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [${replaced.toSorted().join(' ')}]`,
    )
  }
  return warnings
}
