import { type JsonValue, parseLossless } from '../../lib/text/json.ts'
import { formatTime } from '../../lib/text/time.ts'
import type { Caller } from '../callers/access.ts'
import type { LeaseRef } from '../leases/lease.ts'
import type { Mount } from '../mounts/mount.ts'
import type { PolicyRef } from '../policies/acl.ts'
import type { AuthBlock, IssuedToken } from '../tokens/acts/auth-block.ts'
import { clientIdOf } from '../tokens/store/client-id.ts'
import { joined } from '../tokens/store/policy-names.ts'
import { shownScope } from '../tokens/store/scope.ts'
import type { WrapInfo } from '../wrapping/wrapper.ts'
import {
  type FieldNames,
  type Hashing,
  type Hiding,
  hiddenText,
  hidingBut,
  type Secrets,
  withSecretTexts,
} from './hashing.ts'

/** A request as the audit log shows it. docs/contract/audit.md#request-entries */
export type AuditedRequest = {
  readonly id: string
  readonly operation: string
  readonly namespace: { readonly id: string; readonly path: string }
  readonly mount: Mount | undefined
  readonly path: string
  readonly data: Readonly<Record<string, JsonValue>>
  /** Strings of `data` are hashed whatever device and mount say. */
  readonly alwaysHashed: boolean
  readonly secrets: Secrets
  readonly remoteAddress: string
  readonly remotePort: number | undefined
  /** Seconds; 0 without wrapping. */
  readonly wrapTtl: number
  readonly headers: readonly AuditedHeader[]
  /** Of the connection, in decimal; undefined without one. */
  readonly clientCertificateSerialNumber: string | undefined
  /** As sent, valid or not; empty without one. */
  readonly tokenId: string
  /** A login that another request carries: that one has the same id. */
  readonly isCarried: boolean
  /** The window that its caller has overridden. docs/contract/message-windows.md#override */
  readonly override?: 'maintenance' | undefined
  readonly caller: Caller | undefined
  /** Undefined if the request was refused before its policies were looked at. */
  readonly verdict: Verdict | undefined
}

type AuditedHeader = { readonly name: string; readonly values: readonly string[]; readonly hmac: boolean }

/** `granting`: the policies that allow the request, with the path of their namespace. */
export type Verdict = {
  readonly allowed: boolean
  readonly granting: readonly (PolicyRef & { readonly namespacePath: string })[]
}

/** A response as the audit log shows it. docs/contract/audit.md#response-entries */
export type AuditedReply = {
  readonly auth?: AuthBlock
  readonly issued?: IssuedToken
  readonly leaseId?: LeaseRef['id']
  readonly data?: object | null
  readonly dataText?: string
  readonly warnings?: readonly string[]
  readonly wrapInfo?: WrapInfo
  /** Of a cloud credential, in the logs of the cloud. */
  readonly correlationId?: string
}

/** How a request ended. `reason`: the code of a refused login. docs/explain.md#reasons */
export type Ending = { readonly reply: AuditedReply; readonly error: string; readonly reason: string }

export type EntryParts = { readonly version: string }

/**
 * The two entries of one request. What they share is hashed and written once for each device.
 * docs/contract/audit.md
 */
export class Entries {
  readonly #request: AuditedRequest
  readonly #version: string
  readonly #shared = new Map<Hashing, Promise<Shared>>()

  constructor(request: AuditedRequest, { version }: EntryParts) {
    this.#request = request
    this.#version = `v${version.split('+', 1)[0]}+builtin.vault`
  }

  /** The line of the request entry. `now` is milliseconds since the epoch; `error` is empty without one. */
  async requestLine(hashing: Hashing, now: number, error: string): Promise<string> {
    const { auth, request } = await this.#sharedOf(hashing)
    return `${head(now, 'request')},"auth":${auth},"request":${request}${member('error', error)}}`
  }

  async responseLine(hashing: Hashing, now: number, { reply, error, reason }: Ending): Promise<string> {
    const { auth, request, hidden } = await this.#sharedOf(hashing)
    // rare
    const isFirst = reply.issued?.entityCreated === true
    const shownAuth = isFirst ? JSON.stringify(authOf(this.#request, hidden, hashing, true)) : auth
    const start = `${head(now, 'response')},"auth":${shownAuth},"request":${request}`
    const response = await this.#response(reply, hashing)
    const ends =
      member('error', error) + member('reason', reason) + member('correlation_id', reply.correlationId ?? '')
    return `${start},"response":${response}${ends}}`
  }

  #sharedOf(hashing: Hashing): Promise<Shared> {
    const made = this.#shared.get(hashing) ?? this.#makeShared(hashing)
    this.#shared.set(hashing, made)
    return made
  }

  async #makeShared(hashing: Hashing): Promise<Shared> {
    const hidden = tokenHashes(this.#request, hashing)
    const auth = JSON.stringify(authOf(this.#request, hidden, hashing, false))
    return { hidden, auth, request: await this.#requestText(hidden, hashing) }
  }

  async #requestText(hidden: TokenHashes, hashing: Hashing): Promise<string> {
    const { id, operation, namespace, path, data, mount, ...rest } = this.#request
    const before = {
      id,
      client_id: rest.caller && clientIdOf(rest.caller.token),
      operation,
      ...mountMembers(mount, 'mount_running_version', this.#version),
      client_token: hidden.id,
      client_token_accessor: hidden.accessor,
      namespace: { id: namespace.id, path: shown(namespace.path) },
      path,
    }
    const behind = {
      inline: rest.isCarried || undefined,
      override: rest.override,
      remote_address: shown(rest.remoteAddress),
      remote_port: rest.remotePort,
      wrap_ttl: Math.floor(rest.wrapTtl) || undefined,
      headers: headersOf(rest.headers, hashing),
      client_certificate_serial_number: rest.clientCertificateSerialNumber,
    }
    const shownData = hashing.logRaw ? data : withSecretTexts(data, rest.secrets.fields)
    const text = await this.#dataText(shownData, hashing, {
      clear: mount?.config.audit_non_hmac_request_keys,
      isSecretIn: rest.secrets.values?.request,
    })
    return withData(before, text, behind)
  }

  async #response(reply: AuditedReply, hashing: Hashing): Promise<string> {
    const { mount, operation, secrets } = this.#request
    const before = {
      auth: reply.auth && issuedAuthOf(reply.auth, reply.issued, hashing),
      ...mountMembers(mount, 'mount_running_plugin_version', this.#version),
      secret: reply.leaseId === undefined ? undefined : { lease_id: reply.leaseId },
    }
    const behind = {
      warnings: list(reply.warnings ?? []),
      wrap_info: reply.wrapInfo && wrapInfoOf(reply.wrapInfo, hashing),
    }
    const data = reply.data ?? (reply.dataText === undefined ? undefined : parsed(reply.dataText))
    const elided = hashing.elideListResponses && operation === 'list' ? withoutNames(data) : data
    const text = await this.#dataText(elided, hashing, {
      clear: mount?.config.audit_non_hmac_response_keys,
      isSecretIn: secrets.values?.response,
    })
    return withData(before, text, behind)
  }

  /** The text of `data`; empty if there is none. */
  async #dataText(
    data: object | null | undefined,
    hashing: Hashing,
    {
      clear = [],
      isSecretIn,
    }: Pick<Hiding, 'isSecretIn'> & { readonly clear: readonly string[] | undefined },
  ): Promise<string> {
    if (isEmpty(data)) return ''
    const { alwaysHashed, secrets } = this.#request
    const { fields: secret } = secrets
    const hide = alwaysHashed
      ? hidingBut(hashing.hash, { clear: nothing, secret })
      : hashing.logRaw
        ? (text: string) => text
        : hidingBut(hashing.hash, { clear: new Set(clear), secret })
    return hiddenText(data, { hide, isSecretIn })
  }
}

const nothing: FieldNames = new Set()

function withData(before: object, data: string, behind: object): string {
  const members = [before, behind].map((part) => JSON.stringify(part).slice(1, -1))
  const parts = [members[0], data && `"data":${data}`, members[1]]
  return `{${parts.filter((part) => part !== '').join(',')}}`
}

/** What both entries of a request show alike. */
type Shared = { readonly hidden: TokenHashes; readonly auth: string; readonly request: string }

type TokenHashes = { readonly id: string | undefined; readonly accessor: string | undefined }

const head = (now: number, type: string): string => `{"time":"${formatTime(now)}","type":"${type}"`

const member = (name: string, value: string): string =>
  value === '' ? '' : `,"${name}":${JSON.stringify(value)}`

/** `undefined`, which JSON omits, for an empty text. */
const shown = (text: string): string | undefined => (text === '' ? undefined : text)

const list = <T>(items: readonly T[]): readonly T[] | undefined => (items.length === 0 ? undefined : items)

const isEmpty = (data: object | null | undefined): data is null | undefined => {
  for (const _key in data) return false
  return true
}

function tokenHashes({ tokenId, caller }: AuditedRequest, hashing: Hashing): TokenHashes {
  return {
    id: tokenId === '' ? undefined : always(tokenId, hashing),
    accessor: caller && accessorText(caller.token.accessor, hashing),
  }
}

const always = (text: string, { logRaw, hash }: Hashing): string => (logRaw ? text : hash(text))

/** Batch tokens have no accessor. */
function accessorText(text: string, hashing: Hashing): string | undefined {
  if (text === '') return undefined
  return hashing.hmacAccessor ? always(text, hashing) : text
}

/** The caller; of one who was refused before its policies were looked at, only the type. */
function authOf(
  { caller, verdict }: AuditedRequest,
  hidden: TokenHashes,
  hashing: Hashing,
  entityCreated: boolean,
): object {
  if (verdict === undefined) return { token_type: 'default' }
  const policy_results = {
    allowed: verdict.allowed,
    granting_policies: list(
      verdict.granting.map(({ name, namespace, namespacePath }) => ({
        name,
        namespace_id: namespace,
        namespace_path: shown(namespacePath),
        type: 'acl',
      })),
    ),
  }
  const entity_created = entityCreated ? true : undefined
  if (caller === undefined) return { policy_results, entity_created, token_type: 'default' }
  const { token, identityPolicies } = caller
  return {
    client_token: hidden.id,
    accessor: hidden.accessor,
    display_name: shown(token.display_name),
    policies: list(joined(token.policies, identityPolicies)),
    token_policies: list(token.policies),
    identity_policies: list(identityPolicies),
    external_namespace_policies: externalPolicies(caller),
    ...shownScope(token.scope),
    policy_results,
    metadata: metadataOf(token.meta, hashing),
    remaining_uses: token.num_uses > 0 ? token.num_uses : undefined,
    entity_id: shown(token.entity_id),
    entity_created,
    token_type: token.type,
    token_ttl: token.granted_ttl || undefined,
    token_issue_time: issueTime(token.issue_time),
  }
}

/** Tokens of an OpenID provider that a role keeps. docs/contract/oidc.md#callback-modes */
const secretMetadata = ['oauth2_access_token', 'oauth2_id_token', 'oauth2_refresh_token'] as const

function metadataOf(metadata: AuthBlock['metadata'], hashing: Hashing): AuthBlock['metadata'] | undefined {
  if (metadata === null || isEmpty(metadata)) return undefined
  const secrets = secretMetadata.filter((name) => Object.hasOwn(metadata, name))
  if (secrets.length === 0) return metadata
  return {
    ...metadata,
    ...Object.fromEntries(secrets.map((name) => [name, always(metadata[name] ?? '', hashing)])),
  }
}

/** Policies of the caller's groups in other namespaces, by the namespace's id. */
function externalPolicies({ identity, token }: Caller): Record<string, readonly string[]> | undefined {
  const others = identity?.policiesByNamespace.filter(({ namespace }) => namespace !== token.namespace) ?? []
  if (others.length === 0) return undefined
  return Object.fromEntries(others.map(({ namespace, names }) => [namespace, names]))
}

const issueTime = (milliseconds: number): string => formatTime(Math.floor(milliseconds / 1000) * 1000)

/** The token that a response contains. */
function issuedAuthOf(auth: AuthBlock, issued: IssuedToken | undefined, hashing: Hashing): object {
  const { client_token, accessor, policies, token_policies, identity_policies, metadata } = auth
  return {
    client_token: client_token === '' ? undefined : always(client_token, hashing),
    accessor: accessorText(accessor, hashing),
    display_name: shown(issued?.token.display_name ?? ''),
    policies: list(policies),
    token_policies,
    identity_policies,
    ...shownScope(issued?.token.scope),
    metadata: metadataOf(metadata, hashing),
    num_uses: auth.num_uses || undefined,
    entity_id: shown(auth.entity_id),
    entity_created: issued?.entityCreated === true ? true : undefined,
    token_type: auth.token_type,
    token_ttl: auth.lease_duration || undefined,
    token_issue_time: issued && issueTime(issued.token.issue_time),
  }
}

function wrapInfoOf({ ttl, token, accessor, ...rest }: WrapInfo, hashing: Hashing): object {
  const { creation_time, creation_path, wrapped_accessor } = rest
  return {
    ttl: ttl || undefined,
    token: always(token, hashing),
    accessor: accessorText(accessor, hashing),
    creation_time,
    creation_path,
    wrapped_accessor: wrapped_accessor && accessorText(wrapped_accessor, hashing),
  }
}

function mountMembers(mount: Mount | undefined, versionName: string, version: string): object | undefined {
  return (
    mount && {
      mount_point: mount.path,
      mount_type: mount.type,
      mount_accessor: mount.accessor,
      [versionName]: version,
      mount_class: mount.table,
    }
  )
}

function headersOf(headers: readonly AuditedHeader[], hashing: Hashing): object | undefined {
  if (headers.length === 0) return undefined
  return Object.fromEntries(
    headers.map(({ name, values, hmac }) => [
      name,
      hmac ? values.map((value) => always(value, hashing)) : values,
    ]),
  )
}

function parsed(text: string): object | null {
  const value = parseLossless(text)
  return typeof value === 'object' ? value : { value }
}

/** The counts of a list's names, instead of the names. */
function withoutNames(data: object | null | undefined): object | null | undefined {
  if (data === null || data === undefined) return data
  const { keys, key_info, ...rest } = data as { keys?: unknown; key_info?: unknown }
  return {
    ...rest,
    keys: Array.isArray(keys) ? keys.length : keys,
    key_info: typeof key_info === 'object' && key_info !== null ? Object.keys(key_info).length : key_info,
  }
}
