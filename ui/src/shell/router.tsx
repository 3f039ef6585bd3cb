import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  redirect,
} from '@tanstack/react-router'
import { type View, views } from '../views/views.ts'
import { Frame } from './frame.tsx'
import { Guarded } from './guarded.tsx'
import { NotFound, ViewFailed, ViewLoading } from './outcomes.tsx'
import { isWayward, usePlace } from './use-place.tsx'

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NotFound,
  // a search parameter is a text, as the person sees it in the address
  validateSearch: (search: Record<string, unknown>): Record<string, string> =>
    Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)])),
})

const first = createRoute({
  getParentRoute: () => root,
  path: '/',
  // before anything is shown: a component that leads elsewhere would take a person back who has gone on meanwhile
  beforeLoad: () => {
    throw redirect({ to: '/$view/$', params: { view: 'home', _splat: '' }, replace: true })
  },
})

const viewOf = new Map(views.map((view: View) => [view.name, view]))

/**
 * `#/<view>/…`: the rest of the path is the view's own (use-place.ts). The former view stays for a moment while
 * the code of the next one is loaded: after a fallback, React would wait for 300 ms.
 */
const anyView = createRoute({
  getParentRoute: () => root,
  path: '/$view/$',
  loader: async ({ params }) => (await viewOf.get(params.view)?.load())?.View,
  staleTime: Number.POSITIVE_INFINITY,
  component: function AnyView() {
    const { view: name } = anyView.useParams()
    const Content = anyView.useLoaderData()
    const view = viewOf.get(name)
    const place = usePlace()
    if (view === undefined || Content === undefined || isWayward(place)) return <NotFound />
    return (
      <Guarded view={view} key={name}>
        <Content />
      </Guarded>
    )
  },
})

export const createUiRouter = () =>
  createRouter({
    routeTree: root.addChildren([first, anyView]),
    history: createHashHistory(),
    defaultPendingComponent: ViewLoading,
    defaultPendingMs: 150,
    defaultPendingMinMs: 0,
    defaultErrorComponent: ViewFailed,
    defaultNotFoundComponent: NotFound,
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const entries = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
      const text = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString()
      return text === '' ? '' : `?${text}`
    },
  })

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createUiRouter>
  }
}
