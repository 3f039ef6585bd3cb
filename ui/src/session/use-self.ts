import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { lookupSelf, renewSelf, revokeSelf, type Self } from '../api/auth.ts'
import { ApiError } from '../api/errors.ts'
import { session } from './session.ts'

const key = ['self']

/** Who is logged in. A refusal ends the session. */
export function useSelf(): Self | undefined {
  const client = useQueryClient()
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => (await lookupSelf({}, { signal })).data,
    staleTime: Number.POSITIVE_INFINITY,
  })
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
export function useTimeLeft(self: Self | undefined): number | undefined {
  const [now, setNow] = useState(() => Date.now())
  const end = self?.expire_time == null ? undefined : Date.parse(self.expire_time)
  useEffect(() => {
    if (end === undefined) return
    const timer = setInterval(() => {
      setNow(Date.now())
      if (Date.now() >= end) session.end('expired')
    }, 1000)
    return () => clearInterval(timer)
  }, [end])
  return end === undefined ? undefined : Math.max(0, Math.round((end - now) / 1000))
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
