import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { ApiError } from '../api/errors.ts'
import { createUiRouter } from './router.tsx'
import '../styles/shell.css'
import '../styles/table.css'

const createClient = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        // a refusal stays one; a server that restarts is back soon
        retry: (count, error) =>
          error instanceof ApiError && (error.status === 0 || error.status === 503) && count < 3,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        networkMode: 'always',
        gcTime: 60_000,
        staleTime: 5_000,
      },
      mutations: { networkMode: 'always' },
    },
  })

/** The UI of one session: nothing of it is left when the session ends. */
export function Shell() {
  const [client] = useState(createClient)
  const [router] = useState(createUiRouter)
  useEffect(() => () => client.clear(), [client])
  return (
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  )
}
