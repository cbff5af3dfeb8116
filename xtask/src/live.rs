//! placeholder
pub(crate) fn live() -> anyhow::Result<()> {
    Ok(())
}
