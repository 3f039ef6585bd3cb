import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { lookupSelf, renewSelf, revokeSelf, type Self } from '../api/auth.ts'
import { endAfter } from '../api/clock.ts'
import { ApiError } from '../api/errors.ts'
import { namespace } from './namespace.ts'
import { session } from './session.ts'
import { useCountdown } from './use-countdown.ts'

const key = ['self']

export type OwnToken = Self & {
  /** In the server's time; infinite for a token that never ends. */
  readonly end: number
}

async function ownToken(signal: AbortSignal): Promise<OwnToken> {
  const { data } = await lookupSelf({}, { signal })
  return { ...data, end: data.expire_time === null ? Number.POSITIVE_INFINITY : endAfter(data.ttl) }
}

const own = queryOptions({
  queryKey: key,
  queryFn: ({ signal }) => ownToken(signal),
  staleTime: Number.POSITIVE_INFINITY,
})

export type Home = {
  /** The token's own namespace. */
  readonly namespace: string
  /** The way from there to the present namespace, with a slash at its end; empty in the token's own. */
  readonly prefix: string
}

/** Where a token may ask about its rights: policies of its own namespace grant that, and often nothing below grants it. */
export async function homeOf(client: QueryClient): Promise<Home> {
  const here = namespace()
  if (here === '') return { namespace: here, prefix: '' }
  const { namespace_path = '' } = await client.ensureQueryData(own)
  if (!`${here}/`.startsWith(namespace_path)) return { namespace: here, prefix: '' }
  return { namespace: namespace_path.replace(/\/$/, ''), prefix: `${here}/`.slice(namespace_path.length) }
}

/** Who is logged in. A refusal ends the session. */
export function useSelf(): OwnToken | undefined {
  const client = useQueryClient()
  const { data, error } = useQuery(own)
  useEffect(() => {
    if (error instanceof ApiError && error.status === 403) session.end('ended')
  }, [error])
  // one refused call says nothing about the token: the server does
  useEffect(
    () =>
      session.onDoubt(() => {
        if (client.isFetching({ queryKey: key }) === 0) void client.invalidateQueries({ queryKey: key })
      }),
    [client],
  )
  return data
}

/** Seconds that the token has left; undefined for one that never ends. Counts down, and ends the session. */
export function useTimeLeft(self: OwnToken | undefined): number | undefined {
  const left = useCountdown(self?.end ?? Number.POSITIVE_INFINITY)
  useEffect(() => {
    if (left === 0) session.end('expired')
  }, [left])
  return left === Number.POSITIVE_INFINITY ? undefined : left
}

export function useRenewal(): () => Promise<void> {
  const client = useQueryClient()
  return async () => {
    await renewSelf({})
    await client.invalidateQueries({ queryKey: key })
  }
}

/** Ends the session also where the token cannot be revoked. */
export async function logOut(): Promise<void> {
  try {
    await revokeSelf({})
  } finally {
    session.end('logged-out')
  }
}
