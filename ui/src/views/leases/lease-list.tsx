import { List } from '../../components/list.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { LeaseHolder, LeaseTime } from '../../shell/lease-cells.tsx'
import { PlaceLink } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'

const text = strings.leases

type Props = { readonly prefix: string; readonly names: readonly string[] }

/** The content of a prefix: folders, or leases with their owners. */
export function LeaseList({ prefix, names }: Props) {
  const areFolders = names.every((name) => name.endsWith('/'))
  const link = (name: string) => (
    <PlaceLink view="leases" parts={[`${prefix}${name}`]} className="mono">
      {name}
    </PlaceLink>
  )
  if (areFolders)
    return (
      <List name="lease-folders" label={text.leases} rows={names} keyOf={(name) => name}>
        {link}
      </List>
    )
  const columns: readonly Column<string>[] = [
    { id: 'lease', title: text.lease, cell: link },
    { id: 'of', title: text.of, cell: (name) => <LeaseHolder id={`${prefix}${name}`} /> },
    {
      id: 'left',
      title: text.timeLeft,
      width: '20rem',
      wraps: true,
      cell: (name) => <LeaseTime id={`${prefix}${name}`} />,
    },
  ]
  return <Table name="leases" label={text.leases} columns={columns} rows={names} keyOf={(name) => name} />
}
