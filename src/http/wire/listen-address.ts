import { lookup } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import { systemCode } from '../../lib/system/private-file.ts'

/** A host and port, or the path of a Unix socket. */
export type ListenAt = HostAndPort | UnixSocketAt
export type HostAndPort = { readonly host: string; readonly port: number }

export type UnixSocketAt = {
  readonly path: string
  /** Whoever may write to the file may connect. */
  readonly mode: number
  /** A name in /etc/group, or a number; undefined: the group of the server's user. */
  readonly group: string | undefined
}

/** How a connection reached the server: over a network, or from this machine by a Unix socket. */
export type Transport = 'network' | 'unix'

/** An address cannot be bound; the message names it and the reason. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

/** As in the setting. */
const shown = (at: ListenAt): string => ('path' in at ? `unix:${at.path}` : `${at.host}:${at.port}`)

/** Turns the system's errors into a `ListenError`. */
export async function binding<T>(at: ListenAt, bind: () => T | Promise<T>): Promise<T> {
  try {
    return await bind()
  } catch (cause) {
    const reason = cause instanceof ListenError ? cause.message : reasonOf(systemCode(cause), at)
    throw new ListenError(`cannot listen on ${shown(at)}: ${reason}`, { cause })
  }
}

/** The code of the system, and what to do about it. */
export function reasonOf(code: string, at: ListenAt): string {
  const remedy = 'path' in at ? socketRemedies[code] : portRemedies[code]
  return remedy === undefined ? code : `${code}: ${remedy}`
}

const portRemedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there; stop it, or set another address',
  EACCES:
    'the user of this process may not use this port; set one from 1024 on, or grant CAP_NET_BIND_SERVICE',
  EADDRNOTAVAIL: 'this machine does not have this address',
}

const socketRemedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there; stop it, or set another path',
  EACCES: 'the user of this process may not write in this folder',
  ENOENT: 'its folder is missing',
}

/** `localhost` has several addresses. */
export const addressesOf = async (host: string): Promise<string[]> =>
  host === 'localhost' ? (await lookup(host, { all: true })).map(({ address }) => address) : [host]

export const urlOf = (scheme: string, { address, family, port }: AddressInfo): string =>
  `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`

export const unixUrl = (path: string): string => `unix:${path}`

/** The URL that clients on other machines could use; a server on Unix sockets alone has no such URL. */
export const publicUrl = (urls: readonly string[]): string =>
  urls.find((url) => !url.startsWith('unix:')) ?? 'http://localhost'
