import { useSyncExternalStore } from 'react'

/** The namespace is part of the URL of every view: `?namespace=` before the `#`. */
const listeners = new Set<() => void>()

/** Without slashes around it; empty for the root namespace. */
export const namespace = (): string =>
  (new URL(location.href).searchParams.get('namespace') ?? '').replace(/^\/+|\/+$/g, '')

export function setNamespace(name: string): void {
  const url = new URL(location.href)
  if (name === '') url.searchParams.delete('namespace')
  else url.searchParams.set('namespace', name)
  history.replaceState(history.state, '', url)
  for (const listener of listeners) listener()
}

/** The address of another namespace, at a view. It is another document: nothing of the present one is shown there. */
export function addressOfNamespace(name: string, view = ''): string {
  const url = new URL(location.href)
  if (name === '') url.searchParams.delete('namespace')
  else url.searchParams.set('namespace', name)
  url.hash = view === '' ? '' : `/${view}/`
  return url.href
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useNamespace = (): string => useSyncExternalStore(subscribe, namespace)
