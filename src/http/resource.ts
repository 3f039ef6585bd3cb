import type { FastifyInstance, FastifyReply, FastifySchema } from 'fastify'
import { z } from 'zod'
import type { Namespace } from '../core/namespaces/namespace.ts'
import { fail, type ServiceError } from '../errors.ts'
import { convertFields } from '../lib/fields.ts'
import type { JsonValue } from '../lib/json.ts'
import { answerRequest, limitOf } from './answer.ts'
import { type Call, type Converted, callOf } from './call.ts'
import type { DocumentedAnswer } from './documented-route.ts'
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
import { type HelpPage, type HelpVerb, mountText, pageText } from './help.ts'
import { sendAnswer, sendJson } from './json-reply.ts'
import { carrierOf } from './mount-router.ts'
import { tokenOf } from './request-headers.ts'

export type { Call, DocumentedAnswer, Exchange, Follows, Precheck, Reply, WrittenReply }
export { errorReply, followsCaller, followsField, followsFieldOrCaller, limitOf }

export type RouteHost = FastifyInstance

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

export type VerbSpec<Input extends z.ZodObject, Params> = DocumentedAnswer & {
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

const none = z.object({})
const namePattern = '^\\w(?:[\\w.\\-]*\\w)?$'
const allCarriers = Object.values(carrierOf)

/**
 * Registers one path of a plugin: a Fastify route per verb, with its schema for the OpenAPI document, and 405
 * for all other verbs. Paths are relative to the mount: `/role/:name`.
 */
export function resource<
  const Path extends string,
  Read extends z.ZodObject = typeof none,
  Write extends z.ZodObject = typeof none,
  List extends z.ZodObject = typeof none,
  Remove extends z.ZodObject = typeof none,
  Patch extends z.ZodObject = typeof none,
>(
  app: FastifyInstance,
  path: Path,
  spec: ResourceSpec<Captures<Path>, Read, Write, List, Remove, Patch>,
): void {
  const captures = [...path.matchAll(/[:*](\w+)|\*$/g)].map((match) => match[1] ?? 'rest')
  const base = path.replace(/:(\w+)/g, `:$1(${namePattern})`).replace(/\*\w+$/, '*')
  const shown = path.replace(/\*(\w+)$/, ':$1')
  const urls = spec.collection === true ? [base, `${base}/`] : [base]
  const left = new Set(allCarriers)

  for (const operation of verbs) {
    // the verbs of one resource share its captures; inputs differ, and each handler only ever meets values
    // its own schema gave
    const verb = spec[operation] as AnyVerb | undefined
    if (verb === undefined) continue
    left.delete(carrierOf[operation])
    const rules = rulesOf(
      spec as unknown as ResourceSpec<unknown, Read, Write, List, Remove, Patch>,
      operation,
      verb,
      captures,
    )
    // the exchange will be made from this verb's own schema and path
    const served: Served = {
      operation,
      rules,
      handle: verb.handle as (exchange: Exchange<unknown, unknown>) => Outcome,
    }
    for (const [index, url] of urls.entries()) {
      // OpenAPI has no verb for a scan
      const isShown = index === 0 && operation !== 'scan'
      app.route({
        method: carrierOf[operation],
        url,
        schema: isShown ? documented(operation, verb, { captures, help: spec.help }) : { hide: true },
        config: {
          rules,
          served,
          ...(isShown
            ? {
                document: {
                  path: shown.replace('*', ':path'),
                  method: carrierOf[operation],
                  answer: answerOf(operation, verb),
                },
              }
            : {}),
        },
        handler: async (request, reply) => sendAnswer(reply, await answerRequest(app, request, served)),
      })
    }
  }
  const page = pageOf(shown, spec as unknown as ResourceSpec<unknown, Read, Write, List, Remove, Patch>)
  app.helpPages.add(app.prefix.slice(1), page)
  const rest = rulesOf(
    spec as unknown as ResourceSpec<unknown, Read, Write, List, Remove, Patch>,
    'header',
    undefined,
    captures,
  )
  for (const url of urls) {
    app.route({
      method: [...left],
      url,
      schema: { hide: true },
      config: { rules: rest },
      handler: (request, reply) => {
        const call = callOf(request.raw)
        if (call.operation === 'help')
          return path === '/*' && call.below === '' ? sendMountHelp(reply, call) : sendHelp(reply, call, page)
        throw fail('unsupported', 'unsupported operation')
      },
    })
  }
}

/** Refuses unknown paths of a plugin, or one path that an earlier wildcard must not match. */
export function unknownPaths(
  app: FastifyInstance,
  { url = '/*', open = false }: { url?: string; open?: boolean } = {},
): void {
  const rules = rulesOf({ help: '', open }, 'read', undefined, [])
  app.route({
    method: allCarriers,
    url,
    schema: { hide: true },
    config: { rules },
    handler: (request, reply) => {
      const call = callOf(request.raw)
      if (call.operation === 'help' && call.below === '') return sendMountHelp(reply, call)
      throw fail('missing', 'unsupported path')
    },
  })
}

/** Registers only the help of a path that is served elsewhere. */
export function helpOnly(app: FastifyInstance, url: string, page: HelpPage): void {
  const [, plugin = ''] = url.split('/')
  app.helpPages.add(plugin, page)
  app.route({
    method: carrierOf.help,
    url,
    schema: { hide: true },
    config: { rules: rulesOf({ help: page.about, open: page.needs === 'nothing' }, 'read', undefined, []) },
    handler: (request, reply) => sendHelp(reply, callOf(request.raw), page),
  })
}

function pageOf<
  R extends z.ZodObject,
  W extends z.ZodObject,
  L extends z.ZodObject,
  D extends z.ZodObject,
  P extends z.ZodObject,
>(path: string, spec: ResourceSpec<unknown, R, W, L, D, P>): HelpPage {
  const told = verbs.flatMap((verb): HelpVerb[] => {
    // what is told of a verb does not depend on what its handler takes
    const offered = spec[verb] as AnyVerb | undefined
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

function rulesOf<
  R extends z.ZodObject,
  W extends z.ZodObject,
  L extends z.ZodObject,
  D extends z.ZodObject,
  P extends z.ZodObject,
>(
  spec: ResourceSpec<unknown, R, W, L, D, P>,
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

/** docs/contract/http.md#help-counters-tools */
async function sendHelp(reply: FastifyReply, call: Call, page: HelpPage): Promise<FastifyReply> {
  const { plugin = '', path = '' } = call.mount ?? {}
  const place = page.isOfNode ? { group: 'node', path: '' } : { group: plugin, path }
  return sendHelpText(reply, pageText(page, path), await reply.server.describePath(place, page.path))
}

const sendMountHelp = (reply: FastifyReply, { mount }: Call): FastifyReply =>
  sendHelpText(reply, mountText(reply.server.helpPages.of(mount?.plugin ?? ''), mount?.path ?? ''), null)

const sendHelpText = (reply: FastifyReply, help: string, openapi: object | null): FastifyReply =>
  sendJson(reply, 200, `${JSON.stringify({ help, see_also: null, openapi })}\n`)

function documented(
  operation: VerbName,
  verb: AnyVerb,
  { captures, help }: { captures: readonly string[]; help: string },
): FastifySchema {
  const schema = verb.anyFields === true ? inputOf(operation, verb).loose() : inputOf(operation, verb)
  const { output = operation === 'list' ? keyList : undefined } = verb
  const hasFields = Object.keys(schema.shape).length > 0 || (verb.anyFields === true && operation === 'write')
  return {
    summary: verb.summary,
    description: help,
    ...(captures.length === 0
      ? {}
      : { params: z.object(Object.fromEntries(captures.map(documentedCapture))) }),
    ...(hasFields
      ? { [operation === 'write' || operation === 'patch' ? 'body' : 'querystring']: schema }
      : {}),
    ...(output === undefined ? {} : { response: { 200: output } }),
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
