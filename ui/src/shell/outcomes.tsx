import { Button } from '../components/button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Failure } from '../components/failure.tsx'
import { Skeleton } from '../components/skeleton.tsx'
import { strings } from '../strings.ts'
import { PlaceLink } from './use-place.tsx'

const text = strings.shell

export const NotFound = () => (
  <div className="view">
    <EmptyState title={text.notFound}>
      {text.notFoundNext} <PlaceLink view="home">{strings.views['home']}</PlaceLink>
    </EmptyState>
  </div>
)

export const ViewLoading = () => (
  <div className="view">
    <Skeleton />
  </div>
)

export const ViewFailed = ({ error }: { readonly error: unknown }) => (
  <section className="view">
    <h1>{text.failed}</h1>
    <Failure error={error} />
    <Button onPress={() => location.reload()}>{text.reload}</Button>
  </section>
)
