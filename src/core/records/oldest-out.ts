import type { View } from '../barrier/view.ts'

const deletedAtOnce = 500

/** Deletes records that are older than `since`, and then the oldest ones beyond `most`. */
export async function deleteOldest(
  view: Pick<View, 'write'>,
  records: AsyncIterable<readonly { readonly key: string; readonly last: number }[]>,
  { since, most }: { readonly since: number; readonly most: number },
): Promise<void> {
  const kept: { readonly key: string; readonly last: number }[] = []
  for await (const page of records) {
    await deleteAll(
      view,
      page.filter(({ last }) => last < since),
    )
    kept.push(...page.filter(({ last }) => last >= since))
  }
  const tooMany = kept.length - most
  if (tooMany > 0) await deleteAll(view, kept.sort((one, other) => one.last - other.last).slice(0, tooMany))
}

async function deleteAll(
  view: Pick<View, 'write'>,
  records: readonly { readonly key: string }[],
): Promise<void> {
  for (let at = 0; at < records.length; at += deletedAtOnce)
    await view.write(records.slice(at, at + deletedAtOnce).map(({ key }) => ({ key, value: undefined })))
}
