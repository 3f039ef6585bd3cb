import { z } from 'zod'
import type { Namespace } from '../core/namespaces/namespace.ts'
import { fail, type ServiceError } from '../errors.ts'
import { convertFields } from '../lib/fields.ts'
import type { JsonValue } from '../lib/json.ts'
import { limitOf } from './answer.ts'
import { type Call, type Converted, callOf } from './call.ts'
import {
  type DocumentedAnswer,
  type DocumentedRoute,
  documentedMethod,
  tokenKind,
} from './documented-route.ts'
import type { Reply, WrittenReply } from './envelope.ts'
import { errorReply } from './error-reply.ts'
import {
  type Exchange,
  type Outcome,
  type Precheck,
  type RouteRules,
  type Sent,
  type Served,
  type VerbName,
  verbs,
} from './exchange.ts'
import { type Follows, followsCaller, followsField, followsFieldOrCaller } from './follow.ts'
import { onHangUp, onLastByte } from './hang-up.ts'
import type { HelpPage, HelpVerb } from './help.ts'
import { tokenOf } from './request-headers.ts'

export type { Call, DocumentedAnswer, Exchange, Follows, Precheck, Reply, WrittenReply }
export { errorReply, followsCaller, followsField, followsFieldOrCaller, limitOf }

/**
 * Captures of a path template: `:name` is a generic name (docs/contract/http.md#verbs-and-paths), a final `*`
 * or `*name` is the rest, slashes included.
 */
export type Captures<Path extends string> = Path extends `${infer Head}/${infer Tail}`
  ? Captures<Head> & Captures<Tail>
  : Path extends `:${infer Name}`
    ? Record<Name, string>
    : Path extends `*${infer Name}`
      ? Record<Name extends '' ? 'rest' : Name, string>
      : unknown

/** The namespace of a call that has reached a handler. */
export function namespaceOf({ namespace }: Call): Namespace {
  if (namespace === undefined) throw new Error('a plugin was reached without a namespace')
  return namespace
}

type VerbSpec<Input extends z.ZodObject, Params> = DocumentedAnswer & {
  summary: string
  /** Declared fields (query of a read or list, body of a write). */
  input?: Input
  /** Undeclared fields are accepted as data. */
  anyFields?: boolean
  /** Runs after the existence check: `call.creates` tells whether a write creates the target. */
  handle(exchange: Exchange<z.output<Input>, Params>): Outcome
}

export type ResourceSpec<
  Params,
  Read extends z.ZodObject,
  Write extends z.ZodObject,
  List extends z.ZodObject,
  Remove extends z.ZodObject,
  Patch extends z.ZodObject,
> = {
  /** The purpose of the path in one sentence, shown first in its help. */
  help: string
  /** Needs no token. docs/contract/http.md#verbs-and-paths */
  open?: boolean
  /**
   * Open, but a token that is sent must be a good one (`sys/internal/ui/mounts`), or counts only if it is:
   * the handler then sees its caller.
   */
  caller?: 'optional' | 'if-good' | 'required-inside'
  /**
   * Root-protected: the deciding rule must have `sudo` too.
   * docs/contract/tokens-and-policies.md#protected-paths
   */
  sudo?: boolean
  /**
   * Checks the fields before authentication; throws to refuse. docs/contract/http.md#the-order-of-refusals
   */
  precheck?: Precheck
  /**
   * Of a call that is served in the namespace of an id it brings, whatever namespace it was sent to.
   * docs/contract/namespaces.md#calls-that-follow-an-id
   */
  follows?: Follows
  /** The refusal of an unauthenticated caller, instead of `permission denied`; undefined for the default. */
  refusedCaller?(sent: Sent, presented: string): ServiceError | undefined
  /**
   * The path below the mount as it counts, where other spellings mean the same thing: what a rule withholds
   * there it withholds in every spelling. It is asked about the paths of rules too; any path that is not of
   * this resource stays as it is.
   */
  canonical?(below: string): string
  /** Refusals contain the `request_id`. docs/explain.md */
  namesRequest?: boolean
  /** On an open path: responses may be wrapped without a token. docs/contract/wrapping.md#wrapping */
  wrapsWithoutToken?: boolean
  /** Also served in a mount whose removal was refused. */
  whileRemoved?: boolean
  /** Also served with a slash at the end: a collection. */
  collection?: boolean
  /**
   * A slash at the end of a path counts for nothing, for the rights neither, but where it asks for a list.
   * docs/contract/http.md#verbs-and-paths
   */
  dropsSlash?: boolean
  /**
   * The response to a read, if it is written already and the same for every caller: then it goes out before
   * anything else is done. Only of an open path with a fixed place. docs/decisions/0006-ready-reads.md
   */
  prepared?: (namespace: Namespace) => WrittenReply | undefined
  /**
   * Existence check of writes. docs/contract/http.md#field-types,
   * docs/contract/tokens-and-policies.md#capabilities
   */
  exists?(exchange: Exchange<z.output<Write>, Params>): Promise<boolean> | boolean
  read?: VerbSpec<Read, Params>
  write?: VerbSpec<Write, Params>
  list?: VerbSpec<List, Params>
  /** A list of everything below, at any depth. */
  scan?: VerbSpec<List, Params>
  /** Its body is a merge patch. */
  patch?: VerbSpec<Patch, Params>
  delete?: VerbSpec<Remove, Params>
}

type AnyVerb = VerbSpec<z.ZodObject, never>
type AnySpec = ResourceSpec<never, z.ZodObject, z.ZodObject, z.ZodObject, z.ZodObject, z.ZodObject>

const none = z.object({})
const namePattern = '^\\w(?:[\\w.\\-]*\\w)?$'

/**
 * One path of a plugin and its verbs, as a value: `http.ts` serves what plugins list. Paths are relative to
 * the mount: `/role/:name`.
 */
export type Resource = {
  /** Template of the path; a final `*` is the rest of it. */
  readonly path: string
  /** The path as Fastify's router takes it; twice for a collection. */
  readonly urls: readonly string[]
  readonly verbs: Readonly<Partial<Record<VerbName, Served>>>
  /** The rules for help and for verbs that it does not serve. */
  readonly rest: RouteRules
  /** The refusal of a verb that it does not serve. */
  refusal(): ServiceError
  readonly page: HelpPage | undefined
  readonly documented: readonly Omit<DocumentedRoute, 'group'>[]
  /** Its response to a read, if that is written already and the same for every caller. */
  readonly prepared: ((namespace: Namespace) => WrittenReply | undefined) | undefined
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
  // the verbs of one resource share its captures; inputs differ, and each handler only ever meets values its
  // own schema gave
  const common = spec as unknown as AnySpec
  const served: Partial<Record<VerbName, Served>> = {}
  const documented: Omit<DocumentedRoute, 'group'>[] = []
  for (const operation of verbs) {
    const verb = common[operation]
    if (verb === undefined) continue
    const rules = rulesOf(common, operation, verb, captures)
    // the exchange will be made from this verb's own schema and path
    served[operation] = { operation, rules, handle: verb.handle as Served['handle'] }
    if (operation === 'scan') continue
    documented.push({
      ...{ path: shown.replace('*', ':path'), method: documentedMethod[operation], token: tokenKind(rules) },
      ...{ ...schemasOf(operation, verb, captures), summary: verb.summary, description: spec.help },
      answer: answerOf(operation, verb),
    })
  }
  return {
    path: shown,
    urls: spec.collection === true ? [url, `${url}/`] : [url],
    verbs: served,
    rest: rulesOf(common, 'header', undefined, captures),
    refusal: () => fail('unsupported', 'unsupported operation'),
    page: pageOf(shown, common),
    documented,
    prepared: spec.prepared,
  }
}

/** Refuses unknown paths of a plugin, or one path that an earlier wildcard must not match. */
export function unknownPaths({ url = '/*', open = false }: { url?: string; open?: boolean } = {}): Resource {
  return {
    path: url,
    urls: [url],
    verbs: {},
    rest: rulesOf({ help: '', open }, 'read', undefined, []),
    refusal: unsupportedPath,
    page: undefined,
    documented: [],
    prepared: undefined,
  }
}

const unsupportedPath = () => fail('missing', 'unsupported path')

/** Serves only the help of a path that is served elsewhere. */
export function helpOnly(url: string, page: HelpPage): Resource {
  return { ...unknownPaths({ url, open: page.needs === 'nothing' }), page }
}

function pageOf(path: string, spec: AnySpec): HelpPage {
  const told = verbs.flatMap((verb): HelpVerb[] => {
    // what is told of a verb does not depend on what its handler takes
    const offered = spec[verb]
    return offered === undefined
      ? []
      : [
          {
            verb,
            summary: offered.summary,
            input: inputOf(verb, offered),
            anyFields: offered.anyFields === true,
          },
        ]
  })
  const isOpen = spec.open === true || (spec.caller !== undefined && spec.caller !== 'required-inside')
  return {
    path,
    isOfNode: false,
    about: spec.help,
    verbs: told,
    needs: isOpen ? 'nothing' : spec.sudo === true ? 'sudo' : 'token',
  }
}

function rulesOf(
  spec: AnySpec,
  operation: VerbName | 'header',
  verb: AnyVerb | undefined,
  captures: readonly string[],
): RouteRules {
  const schema = inputOf(operation, verb)
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
    whileRemoved: spec.whileRemoved === true,
    wrapsWithoutToken: spec.wrapsWithoutToken === true,
    exists:
      operation === 'write' && spec.exists !== undefined ? (spec.exists as RouteRules['exists']) : undefined,
    convert: (call) => convert(schema, call.sent, captures, verb?.anyFields === true),
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
        whenGone: (listener) => onHangUp(request.raw.socket, listener),
        whenSilent: (listener) => onLastByte(request.raw.socket, listener),
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

/** Every list takes `after` and `limit`. docs/contract/http.md#verbs-and-paths */
const paging = z.object({
  after: z.unknown().meta({ type: 'string', description: 'List the names after this one' }).optional(),
  limit: z
    .unknown()
    .meta({ type: 'integer', description: 'List at most so many names; 0 for all' })
    .optional(),
})

function inputOf(operation: string, verb: AnyVerb | undefined): z.ZodObject {
  const declared = verb?.input ?? none
  return operation === 'list' || operation === 'scan' ? paging.extend(declared.shape) : declared
}

function convert(
  schema: z.ZodObject,
  sent: Record<string, JsonValue>,
  captures: readonly string[],
  anyFields: boolean,
): Converted {
  const replaced = captures.filter((name) => name !== 'rest' && Object.hasOwn(sent, name))
  const fields =
    replaced.length === 0
      ? sent
      : Object.fromEntries(Object.entries(sent).filter(([name]) => !replaced.includes(name)))
  const { values, unknown } = convertFields(schema, fields)
  return { values, unknown: anyFields ? [] : unknown, replaced }
}

function schemasOf(
  operation: VerbName,
  verb: AnyVerb,
  captures: readonly string[],
): Pick<DocumentedRoute, 'params' | 'query' | 'body' | 'output'> {
  const schema = verb.anyFields === true ? inputOf(operation, verb).loose() : inputOf(operation, verb)
  const { output = operation === 'list' ? keyList : undefined } = verb
  const hasFields = Object.keys(schema.shape).length > 0 || (verb.anyFields === true && operation === 'write')
  return {
    ...(captures.length > 0 && { params: z.object(Object.fromEntries(captures.map(documentedCapture))) }),
    ...(hasFields && { [operation === 'write' || operation === 'patch' ? 'body' : 'query']: schema }),
    ...(output && { output }),
  }
}

const keyList = z.object({ keys: z.array(z.string()) })

const answerOf = (operation: VerbName, verb: AnyVerb): DocumentedAnswer =>
  operation === 'list' && verb.example === undefined
    ? { ...verb, example: { keys: ['first', 'second'] } }
    : verb

const documentedCapture = (name: string) =>
  name === 'rest'
    ? (['path', z.string().describe('The rest of the path, slashes included')] as const)
    : ([name, z.string()] as const)
