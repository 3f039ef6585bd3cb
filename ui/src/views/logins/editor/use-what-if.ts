import { useQuery } from '@tanstack/react-query'
import { ApiError } from '../../../api/errors.ts'
import { useSettled } from '../../../components/use-settled.ts'
import type { WhatIf } from './calls.ts'
import type { Values } from './spec.ts'

/** The report about a write of an object. */
export type TryOut = (
  body: Values,
  options: { readonly signal: AbortSignal },
) => Promise<{ readonly data: WhatIf }>

type Tried = {
  /** The report of what is in the form; undefined while it is asked for, and if nobody may ask. */
  readonly report: WhatIf | undefined
  /** Why a write would be refused. */
  readonly refusal: ApiError | undefined
}

/** Tries what is in a form once the person pauses. Nothing is stored. */
export function useWhatIf(path: string, body: Values, tryOut: TryOut | undefined): Tried {
  const typed = JSON.stringify(body)
  const settled = useSettled(typed)
  const { data, error } = useQuery({
    queryKey: ['what-if', path, settled],
    queryFn: ({ signal }) => tryOut?.(JSON.parse(settled), { signal }) ?? null,
    enabled: tryOut !== undefined,
    retry: false,
    gcTime: 0,
  })
  const isOfForm = typed === settled
  return { report: isOfForm ? data?.data : undefined, refusal: error instanceof ApiError ? error : undefined }
}
