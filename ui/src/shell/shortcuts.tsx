import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { areKeysOn, viewKeys } from './keys.ts'
import { useAllowedViews } from './view-access.ts'

const KeysDialog = lazy(async () => ({ default: (await import('./keys-dialog.tsx')).KeysDialog }))

const pairMs = 1500

/** Single keys for people who work without a mouse: `/`, `g` and the letter of a view, and `?`, which lists them. */
export function Shortcuts() {
  const navigate = useNavigate()
  const { allowed } = useAllowedViews()
  const [isListed, setListed] = useState(false)
  const begun = useRef(Number.NEGATIVE_INFINITY)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isForPage(event)) return
      const isSecond = event.timeStamp - begun.current < pairMs
      begun.current = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY
      const view = allowed.find(({ name }) => isSecond && viewKeys[name] === event.key)
      if (view !== undefined) void navigate({ to: '/$view/$', params: { view: view.name, _splat: '' } })
      else if (event.key === '/') document.querySelector<HTMLElement>(filters)?.focus()
      else if (event.key === '?') setListed(true)
      else return
      event.preventDefault()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [allowed, navigate])
  return isListed ? (
    <Suspense>
      <KeysDialog views={allowed} onClose={() => setListed(false)} />
    </Suspense>
  ) : null
}

const filters = 'main search input'
const typing = 'input, textarea, select, [contenteditable]'

/** `?` is always heard: its list has the switch for the others. */
const isForPage = ({ key, target, ctrlKey, metaKey, altKey, defaultPrevented }: KeyboardEvent): boolean =>
  !(ctrlKey || metaKey || altKey || defaultPrevented) &&
  !(target instanceof Element && target.closest(typing) !== null) &&
  document.querySelector('[role=dialog], [role=alertdialog]') === null &&
  (key === '?' || areKeysOn())
