import { useQuery } from '@tanstack/react-query'
import { messagesPath } from '../../api/message-admin.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { readStored, type Stored, storedOnes } from './pair.ts'

/** A message, and the one that belongs to it. */
export function useStored(id: string, options: { readonly staleTime?: number } = {}) {
  const { can, isKnown } = useCapabilities([messagesPath])
  return useQuery({
    queryKey: ['message', id],
    queryFn: ({ signal }) => readStored(id, can(messagesPath, 'list'), signal),
    enabled: isKnown,
    ...options,
  })
}

export type Rights = {
  readonly isKnown: boolean
  readonly mayCreate: boolean
  readonly mayUpdate: boolean
  readonly mayDelete: boolean
  /** It may give a message an effect. */
  readonly mayAct: boolean
}

/** The token's rights on messages. Changing one with an effect needs `sudo`. */
export function useRights(stored: Stored): Rights {
  const messages = storedOnes(stored)
  const paths = messages.map(({ id }) => `${messagesPath}/${id}`)
  const { can, isKnown } = useCapabilities([messagesPath, ...paths])
  const mayAct = (paths.length === 0 ? [messagesPath] : paths).every((path) => can(path, 'sudo'))
  const mayChange = mayAct || messages.every(({ effect }) => effect === undefined)
  return {
    isKnown,
    mayCreate: can(messagesPath, 'create'),
    mayUpdate: mayChange && paths.every((path) => can(path, 'update')),
    mayDelete: mayChange && paths.every((path) => can(path, 'delete')),
    mayAct,
  }
}
