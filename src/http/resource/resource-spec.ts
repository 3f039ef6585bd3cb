import { z } from 'zod'
import type { SecretValues } from '../../core/audit/hashing.ts'
import type { ServiceError } from '../../errors.ts'
import type { Exchange, Outcome, Precheck, Sent } from '../exchange/exchange.ts'
import type { Follows } from '../exchange/follow.ts'
import type { DocumentedAnswer } from './documented-route.ts'
import type { KeptHistory } from './kept-history.ts'

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

type VerbSpec<Input extends z.ZodObject, Params> = DocumentedAnswer & {
  summary: string
  /** Declared fields (query of a read or list, body of a write). */
  input?: Input
  /** Undeclared fields are accepted as data. */
  anyFields?: boolean
  /** Runs after the existence check: `call.creates` tells whether a write creates the target. */
  handle(exchange: Exchange<z.output<Input>, Params>): Outcome | Promise<void>
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
   * Open, but a token in the request must be valid (`sys/internal/ui/mounts`), or counts only if it is valid:
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
   * For a call that is served in the namespace of an id it carries, whatever namespace it was sent to.
   * docs/contract/namespaces.md#calls-that-follow-an-id
   */
  follows?: Follows
  /** The refusal of an unauthenticated caller, instead of `permission denied`; undefined for the default. */
  refusedCaller?(sent: Sent, presented: string): ServiceError | undefined
  /**
   * The canonical path below the mount, if other spellings mean the same: a rule that withholds it withholds
   * every spelling. It is also called with the paths of rules; any path that is not of this resource stays
   * unchanged.
   */
  canonical?(below: string): string
  /** Refusals contain the `request_id`. docs/explain.md */
  namesRequest?: boolean
  /** Audit entries hash all its strings, whatever the device says. docs/contract/audit.md#what-is-logged */
  isCeremony?: boolean
  /** Values that audit entries hash whatever they are. docs/contract/audit.md#what-is-hashed */
  secretValues?: SecretValues
  /** On an open path: responses may be wrapped without a token. docs/contract/wrapping.md#wrapping */
  wrapsWithoutToken?: boolean
  /** Earlier forms of the object are kept. docs/contract/history.md */
  history?: KeptHistory<Params>
  /** Also served in a mount whose removal was refused. */
  whileRemoved?: boolean
  /**
   * Its writes change nothing that a window could protect: they look something up, log in, renew, revoke or try. Any
   * other write is refused while its namespace is read-only. docs/contract/message-windows.md#read-only
   */
  passesReadOnly?: boolean
  /** Makes credentials, with any verb. docs/contract/message-windows.md#no-new-credentials */
  issuesCredentials?: boolean
  /** The API document leaves it out: every verb is refused, though in the words of the plugin. */
  undocumented?: boolean
  /** Also served with a trailing slash: a collection. */
  collection?: boolean
  /**
   * A trailing slash is ignored, also for rights, except where it requests a list.
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

/** A verb of any resource. */
export type AnyVerb = VerbSpec<z.ZodObject, never>
/** The declaration of any resource. */
export type AnySpec = ResourceSpec<never, z.ZodObject, z.ZodObject, z.ZodObject, z.ZodObject, z.ZodObject>

/** The fields of a verb that declares none. */
export const none = z.object({})
