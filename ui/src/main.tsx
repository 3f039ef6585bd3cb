import { lazy, StrictMode, Suspense, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { uiBase } from './base.ts'
import { Skeleton } from './components/skeleton.tsx'
import { keepFocus } from './focus.ts'
import { LoginPage } from './login/login-page.tsx'
import { completeOidc, type OidcReturn, takeOidcReturn } from './login/oidc.ts'
import { session, useToken } from './session/session.ts'
import './styles/base.css'
import './styles/controls.css'
import './styles/login.css'
import './styles/messages.css'

/** What only people who are logged in need. */
const loadShell = () => import('./shell/shell.tsx')
const Shell = lazy(async () => ({ default: (await loadShell()).Shell }))
if (session.token !== null) void loadShell()

type Refused = { readonly from: OidcReturn; readonly error: unknown }

function App({ refused: first }: { readonly refused: Refused | undefined }) {
  const token = useToken()
  const [refused] = useState(first)
  if (token === null) return <LoginPage refused={refused} lastEnd={session.lastEnd} />
  return (
    <Suspense fallback={<Loading />}>
      <Shell key={token} />
    </Suspense>
  )
}

const Loading = () => (
  <div className="loading">
    <Skeleton />
  </div>
)

/** The icon is named relative to the page, whose address changes: a browser would look for it elsewhere then. */
const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
if (icon !== null) icon.href = new URL(icon.href).href

/** Continues a login that comes back from its provider; the address becomes that of the UI. */
async function completed(): Promise<Refused | undefined> {
  const from = takeOidcReturn()
  const home = new URL(uiBase)
  if (from === undefined) {
    // an address of Vault's UI
    if (location.pathname !== uiBase.pathname) {
      home.search = location.search
      history.replaceState(null, '', home)
    }
    return undefined
  }
  if (from.namespace !== '') home.searchParams.set('namespace', from.namespace)
  home.hash = from.destination
  history.replaceState(null, '', home)
  try {
    session.begin(await completeOidc(from))
    return undefined
  } catch (error) {
    return { from, error }
  }
}

keepFocus()
const root = createRoot(document.getElementById('root') ?? document.body)
if (new URL(location.href).searchParams.has('state')) root.render(<Loading />)
const refused = await completed()
root.render(
  <StrictMode>
    <App refused={refused} />
  </StrictMode>,
)
