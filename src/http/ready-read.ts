import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Mount } from '../core/mounts/mount.ts'
import { type Namespace, rootNamespace } from '../core/namespaces/namespace.ts'
import type { NamespaceStore } from '../core/namespaces/namespace-store.ts'
import { namesTag } from '../lib/entity-tag.ts'
import type { Random } from '../lib/random.ts'
import { bodyBeside, commonHeaders, requestIdHeader } from './common-headers.ts'
import { envelope, type WrittenReply } from './envelope.ts'
import { largeAnswer } from './json-reply.ts'

export type ReadyReadParts = {
  /** An open path, without `/v1/`, that only responds with 200 or 304. */
  readonly path: string
  /**
   * The response for every caller, the same object while it is unchanged; undefined if it is not prepared.
   */
  readonly find: (namespace: Namespace) => WrittenReply | undefined
  /** The mount of the path in the namespace of this id. */
  readonly resolve: (
    namespaceId: string,
    path: string,
  ) => { readonly mount: Pick<Mount, 'type' | 'tainted'> } | undefined
  readonly namespaces: Pick<NamespaceStore, 'resolve' | 'isLive' | 'lockRefusal'>
  readonly clientAddress: (request: IncomingMessage) => unknown
  readonly random: Random
  readonly isSealed: () => boolean
}

/** Sends a prepared response. Returns false, without any effect, if there is none. */
export type ReadyRead = (request: IncomingMessage, response: ServerResponse) => boolean

/** Requests with one of these headers take the usual path. */
const unusual = ['content-length', 'transfer-encoding', 'origin', 'x-vault-wrap-ttl', 'x-vault-mfa'] as const

/**
 * Serves plain reads of a path whose prepared response is the same for every caller. They skip the usual
 * processing, which costs several times as much as the response itself. Every other request for the path
 * takes the usual way, with the same result.
 */
export function readyRead({
  path,
  find,
  resolve,
  namespaces,
  clientAddress,
  random,
  isSealed,
}: ReadyReadParts): ReadyRead {
  const writtenOf = new WeakMap<WrittenReply, Written>()
  const written = (reply: WrittenReply, mountType: string): Written => {
    const known = writtenOf.get(reply)
    if (known?.mountType === mountType) return known
    const fresh = writeOut(path, reply, mountType)
    writtenOf.set(reply, fresh)
    return fresh
  }

  /** Where it is served, if it is: a refusal is not written here. */
  function placeOf(
    named: string | string[] | undefined,
  ): { namespace: Namespace; mountType: string } | undefined {
    const place = Array.isArray(named) ? undefined : namespaces.resolve(named, path)
    if (place === undefined || place.taken > 0) return undefined
    const { namespace } = place
    if (
      namespace.id !== rootNamespace.id &&
      (!namespaces.isLive(namespace.id) || namespaces.lockRefusal(namespace) !== undefined)
    )
      return undefined
    const mount = resolve(namespace.id, path)?.mount
    return mount === undefined || mount.tainted ? undefined : { namespace, mountType: mount.type }
  }

  const withVersion = `/v1/${path}`
  const withoutVersion = `/${path}`

  return (request, response) => {
    const { url } = request
    if ((url !== withVersion && url !== withoutVersion) || request.method !== 'GET') return false
    const { headers } = request
    if (
      isSealed() ||
      unusual.some((name) => headers[name] !== undefined) ||
      typeof clientAddress(request) !== 'string'
    )
      return false
    const named = headers['x-vault-namespace']
    const place = placeOf(named)
    const reply = place && find(place.namespace)
    if (place === undefined || reply === undefined || reply.dataText.length >= largeAnswer) return false
    const answer = written(reply, place.mountType)
    const id = random.uuid()
    const withOwn = (all: readonly string[]) =>
      typeof named === 'string' && named !== ''
        ? [...all, requestIdHeader, id, 'x-vault-namespace', named]
        : [...all, requestIdHeader, id]
    if (namesTag(headers['if-none-match'], reply.headers.etag)) {
      response.writeHead(304, withOwn(answer.headers)).end()
      return true
    }
    response.cork()
    response.writeHead(200, withOwn(answer.headersOfWhole))
    response.write(bodyBeside(named, answer.head + id))
    response.end(answer.tail)
    return true
  }
}

/**
 * An answer but for the id of its request, which stands between `head` and `tail`. Names and values of
 * headers stand in turn.
 */
type Written = {
  readonly mountType: string
  readonly headers: string[]
  readonly headersOfWhole: string[]
  readonly head: string
  readonly tail: Buffer
}

const anyId = '00000000-0000-0000-0000-000000000000'

function writeOut(path: string, reply: WrittenReply, mountType: string): Written {
  const text = envelope({ requestId: anyId, path, namespaceInPath: false, mount: { type: mountType } }, reply)
  const at = text.indexOf(anyId)
  const headers = Object.entries({ ...commonHeaders, ...reply.headers }).flat()
  return {
    mountType,
    headers,
    headersOfWhole: [
      ...headers,
      'content-type',
      'application/json',
      'content-length',
      String(Buffer.byteLength(text)),
    ],
    head: text.slice(0, at),
    tail: Buffer.from(text.slice(at + anyId.length)),
  }
}
