import type { z } from 'zod'
import type { Mount } from '../../core/mounts/mount.ts'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import { fail, type ServiceError } from '../../errors.ts'
import type { HelpPage } from '../document/help.ts'
import { answerOf, pageOf, schemasOf } from '../document/resource-document.ts'
import type { Call } from '../exchange/call.ts'
import type { Reply, StreamedBody } from '../exchange/envelope.ts'
import { errorReply } from '../exchange/error-reply.ts'
import {
  checkMayReach,
  checkMaySend,
  type Exchange,
  hasSudo,
  mayReach,
  maySeeFolder,
  maySend,
  type Precheck,
  type RouteRules,
  type Served,
  type VerbName,
  verbs,
} from '../exchange/exchange.ts'
import { type Follows, followsCaller, followsField, followsFieldOrCaller } from '../exchange/follow.ts'
import { limitOf } from './answer.ts'
import {
  type DocumentedAnswer,
  type DocumentedRoute,
  documentedMethod,
  tokenKind,
} from './documented-route.ts'
import { historyQuery, historyReply, keeping, keptResource, revertHint } from './kept-history.ts'
import { type AnySpec, type Captures, none, type ResourceSpec } from './resource-spec.ts'
import { rulesOf } from './route-rules.ts'

export type { RequestInProgress } from '../exchange/requests-in-progress.ts'
export type { KeptHistory, Place } from './kept-history.ts'
export type { Captures } from './resource-spec.ts'
export type { Call, DocumentedAnswer, Exchange, Follows, Precheck, Reply, StreamedBody }
export {
  checkMayReach,
  checkMaySend,
  errorReply,
  followsCaller,
  followsField,
  followsFieldOrCaller,
  hasSudo,
  limitOf,
  mayReach,
  maySeeFolder,
  maySend,
}

/** The namespace of a call that has reached a handler. */
export function namespaceOf({ namespace }: Call): Namespace {
  if (namespace === undefined) throw new Error('a plugin was reached without a namespace')
  return namespace
}

/** Where a login is, and from where; a login that another request carries serves that one only. */
export const loginPlace = (mount: Mount, call: Call) => ({
  mount,
  isCarried: call.loginKind !== 'login',
  namespacePath: namespaceOf(call).path,
  path: call.path,
  remoteAddress: call.remoteAddress,
})

const nameText = '\\w(?:[\\w.\\-]*\\w)?'
const namePattern = `^${nameText}$`

/** The pattern of a template without a rest, with a group for each name. */
export const capturesIn = (template: string): RegExp =>
  new RegExp(`^${template.replace(/:(\w+)/g, `(?<$1>${nameText})`)}$`)

/** Of paths below a mount that match the pattern, with a slash in front: what makes their spellings one. */
export type Spelling = { readonly pattern: RegExp; canonical(below: string): string }

/**
 * One path of a plugin and its verbs, as a value: `http.ts` serves what plugins list. Paths are relative to
 * the mount: `/role/:name`.
 */
export type Resource = {
  /** Template of the path; a final `*` is the rest of it. */
  readonly path: string
  /** The path for Fastify's router; two for a collection. */
  readonly urls: readonly string[]
  readonly verbs: Readonly<Partial<Record<VerbName, Served>>>
  readonly spelling: Spelling | undefined
  /** The rules for verbs that it does not serve. */
  rest(): RouteRules
  helpRules(): RouteRules
  /** The refusal of a verb that it does not serve. */
  refusal(): ServiceError
  readonly page: HelpPage | undefined
  /** Its place in the API document. Made when somebody asks for that. */
  documented(): readonly Omit<DocumentedRoute, 'group'>[]
}

/** Declares one path of a plugin. */
export function resource<
  const Path extends string,
  Read extends z.ZodObject = typeof none,
  Write extends z.ZodObject = typeof none,
  List extends z.ZodObject = typeof none,
  Remove extends z.ZodObject = typeof none,
  Patch extends z.ZodObject = typeof none,
>(path: Path, spec: ResourceSpec<Captures<Path>, Read, Write, List, Remove, Patch>): Resource {
  const captures = [...path.matchAll(/[:*](\w+)|\*$/g)].map((match) => match[1] ?? 'rest')
  const url = path.replace(/:(\w+)/g, `:$1(${namePattern})`).replace(/\*\w+$/, '*')
  const shown = path.replace(/\*(\w+)$/, ':$1')
  // the verbs of one resource share its captures; inputs differ, and each handler only gets values of its own
  // schema
  const common = spec as unknown as AnySpec
  const served: Partial<Record<VerbName, Served>> = {}
  for (const operation of verbs) {
    const verb = common[operation]
    if (verb === undefined) continue
    const rules = rulesOf(common, operation, verb, captures)
    // the exchange will be made from this verb's own schema and path
    served[operation] = withHistory(common, { operation, rules, handle: verb.handle as Served['handle'] })
  }
  const documented = () =>
    verbs.flatMap((operation) => {
      const verb = common[operation]
      const rules = served[operation]?.rules
      if (verb === undefined || rules === undefined || operation === 'scan' || spec.undocumented === true)
        return []
      const schemas = schemasOf(operation, verb, captures)
      const isKept = spec.history !== undefined && spec.history.elsewhere === undefined
      const query = isKept && operation === 'read' ? historyQuery : undefined
      return {
        path: shown.replace('*', ':path'),
        method: documentedMethod[operation],
        token: tokenKind(rules),
        sudo: rules.sudo,
        ...schemas,
        ...(query && { query: schemas.query?.extend(query.shape) ?? query }),
        summary: verb.summary,
        description: isKept && operation === 'write' ? `${spec.help} ${revertHint}` : spec.help,
        answer: answerOf(operation, verb),
      }
    })
  // few paths are ever asked for a verb that they do not serve
  let rest: RouteRules | undefined
  const rulesOfRest = () => (rest ??= rulesOf(common, 'header', undefined, captures))
  return {
    path: shown,
    urls: spec.collection === true ? [url, `${url}/`] : [url],
    verbs: served,
    spelling: spec.canonical && { pattern: patternOf(path), canonical: spec.canonical },
    rest: rulesOfRest,
    helpRules: rulesOfRest,
    refusal: () => fail('unsupported', 'unsupported operation'),
    page: pageOf(shown, common),
    documented,
  }
}

/** A verb of an object whose earlier forms are kept shows and keeps them. */
function withHistory({ history, write, sudo = false }: AnySpec, served: Served): Served {
  if (history === undefined) return served
  const { operation, handle, rules } = served
  const kept = keptResource(history, write?.input ?? none, sudo)
  if (operation === 'read')
    return { ...served, handle: (exchange) => historyReply(kept, exchange) ?? handle(exchange) }
  if (operation === 'list' || operation === 'scan') return served
  const isDeletion = operation === 'delete' && history.elsewhere !== 'part'
  return {
    ...served,
    handle: (exchange) =>
      keeping(kept, exchange, { schema: rules.schema, isDeletion, work: () => handle(exchange) }),
  }
}

type NameList = {
  readonly help: string
  readonly summary: string
  readonly example?: readonly string[]
  names(mount: Mount): readonly string[] | Promise<readonly string[]>
}

/** A collection of which names are listed, and nothing else. */
export const nameList = (path: `/${string}`, { help, summary, example, names }: NameList): Resource =>
  resource(path, {
    help,
    collection: true,
    list: {
      summary,
      ...(example && { example: { keys: example } }),
      handle: async ({ mount }) => ({ data: { keys: await names(mount) } }),
    },
  })

/** The reply to a change: its warnings, if there are any. */
export const warned = (warnings: readonly string[]): Reply | undefined =>
  warnings.length === 0 ? undefined : { warnings }

/** `canonical` of paths with names that are the same in any spelling. */
export const lowerCase = (below: string): string => below.toLowerCase()

const tidyStarted =
  "Tidy operation successfully started. Any information from the operation will be printed to Gatehouse's server logs."

/** The reply to a request to tidy up in the background. */
export const tidyReply = (isStarted: boolean): Reply =>
  isStarted ? { status: 202, warnings: [tidyStarted] } : { warnings: ['Tidy operation already in progress.'] }

/** Refuses unknown paths of a plugin, or one path that an earlier wildcard must not match. */
export function unknownPaths({ url = '/*', open = false }: { url?: string; open?: boolean } = {}): Resource {
  const rest = rulesOf({ help: '', open }, 'read', undefined, [])
  return {
    path: url,
    urls: [url],
    verbs: {},
    spelling: undefined,
    rest: () => rest,
    helpRules: () => rest,
    refusal: unsupportedPath,
    page: undefined,
    documented: () => [],
  }
}

const patternOf = (template: string): RegExp =>
  new RegExp(`^${template.replace(/:\w+/g, '[^/]+').replace(/\*\w*$/, '.*')}/?$`)

const unsupportedPath = () => fail('missing', 'unsupported path')

/** Describes, in the API document, a part of what a wildcard of another resource serves. */
export const describedOnly = (described: Resource): Resource => ({
  ...described,
  urls: [],
  verbs: {},
  page: undefined,
})

/** Serves only the help of a path that is served elsewhere. */
export function helpOnly(url: string, page: HelpPage): Resource {
  const helpRules = rulesOf({ help: '', open: page.needs === 'nothing' }, 'read', undefined, [])
  return { ...unknownPaths({ url }), helpRules: () => helpRules, page }
}
