import { useIsFetching } from '@tanstack/react-query'
import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { Suspense, useEffect, useRef, useState } from 'react'
import { Announcer } from '../components/announce.tsx'
import { Button } from '../components/button.tsx'
import { Failure } from '../components/failure.tsx'
import { Skeleton } from '../components/skeleton.tsx'
import { shortDuration } from '../components/time.tsx'
import { isAnythingUnsaved } from '../components/unsaved.ts'
import { visible } from '../components/visible.ts'
import { Messages } from '../messages/messages.tsx'
import { logOut, useRenewal, useSelf, useTimeLeft } from '../session/use-self.ts'
import { strings } from '../strings.ts'
import { LeaveDialog, LeaveGuard } from './leave-guard.tsx'
import { NamespaceSwitcher } from './namespaces.tsx'
import { Shortcuts } from './shortcuts.tsx'
import { useTitle } from './use-title.ts'
import { useAllowedViews } from './view-access.ts'

const text = strings.shell

/** What surrounds every view: messages, the account, the navigation. */
export function Frame() {
  const self = useSelf()
  const [isOpen, setOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  useTitle(main)
  // biome-ignore lint/correctness/useExhaustiveDependencies: on each change of the place
  useEffect(() => setOpen(false), [pathname])
  return (
    <>
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        {text.skip}
      </button>
      {self !== undefined && (
        <Messages audience="authenticated" reader={self.entity_id || self.display_name} />
      )}
      <Announcer />
      <LeaveGuard />
      <Shortcuts />
      <div className="frame">
        <header className="topbar">
          <Button
            kind="quiet"
            aria-expanded={isOpen}
            aria-controls="navigation"
            onPress={() => setOpen(!isOpen)}
          >
            {text.menu}
          </Button>
          <Link to="/" className="wordmark">
            {strings.product}
          </Link>
          <NamespaceSwitcher />
          <SessionTime />
          <span className="who">{visible(self?.display_name ?? '')}</span>
          <LogOut />
        </header>
        <Navigation isOpen={isOpen} />
        <main id="main" tabIndex={-1} ref={main}>
          <Outlet />
          <Pending />
        </main>
      </div>
    </>
  )
}

/** As long as something that the page shows has not arrived for the first time; a cell of a row does not count. */
function Pending() {
  const count = useIsFetching({
    predicate: ({ state, meta }) => state.status === 'pending' && meta?.['isDetail'] !== true,
  })
  return count === 0 ? null : (
    <div className="pending">
      <Skeleton />
    </div>
  )
}

function Navigation({ isOpen }: { readonly isOpen: boolean }) {
  const { allowed } = useAllowedViews()
  return (
    <nav
      id="navigation"
      aria-label={text.navigation}
      className={isOpen ? 'main-navigation open' : 'main-navigation'}
    >
      <ul>
        {allowed.map(({ name }) => (
          <li key={name}>
            <Link to="/$view/$" params={{ view: name, _splat: '' }} activeOptions={{ exact: false }}>
              {strings.views[name] ?? name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function LogOut() {
  const [asks, setAsks] = useState(false)
  const leave = () => void logOut().catch(() => {})
  return (
    <>
      <Button kind="quiet" onPress={() => (isAnythingUnsaved() ? setAsks(true) : leave())}>
        {strings.session.logout}
      </Button>
      {asks && (
        <Suspense>
          <LeaveDialog onStay={() => setAsks(false)} onLeave={leave} />
        </Suspense>
      )}
    </>
  )
}

const warnedSeconds = 300

/** From five minutes before its end, the session counts down and can be renewed. */
function SessionTime() {
  const self = useSelf()
  const left = useTimeLeft(self)
  const renew = useRenewal()
  const [error, setError] = useState<unknown>()
  const isNear = left !== undefined && left <= warnedSeconds
  return (
    <div className="session-time">
      {/* it must exist before it speaks, and must not speak each second */}
      <span className="hidden" role="status">
        {isNear ? strings.session.ends : ''}
      </span>
      {isNear && (
        <>
          <span role="timer" aria-live="off">
            {strings.session.endsIn(shortDuration(left))}
          </span>
          {self?.renewable === true && (
            <Button onPress={() => void renew().then(() => setError(undefined), setError)}>
              {strings.session.renew}
            </Button>
          )}
          <Failure error={error} />
        </>
      )}
    </div>
  )
}
