import { useEffect, useState } from 'react'

const listeners = new Set<(text: string) => void>()

/** Says that something is done, to people who do not see the page change. */
export function announce(text: string): void {
  for (const listener of listeners) listener(text)
}

/** Where it is said: there from the beginning, as screen readers want it. */
export function Announcer() {
  const [said, setSaid] = useState({ text: '', count: 0 })
  useEffect(() => {
    const listener = (text: string) => setSaid(({ count }) => ({ text, count: count + 1 }))
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  return (
    <div className="hidden" role="status">
      <span key={said.count}>{said.text}</span>
    </div>
  )
}
