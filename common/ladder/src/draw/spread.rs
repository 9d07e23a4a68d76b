//! Labels that do not overlap.

/// Moves positions apart until neighbors are at least `gap` from each other, as little as possible (least squares)
/// and without reordering; the result has the order of the input.
pub fn spread(places: &[f64], gap: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
    // After subtracting the gaps, positions only need to ascend: neighbors that do not are pooled at their mean.
    let mut pools: Vec<(f64, usize)> = Vec::new(); // the sum, and of how many
    for (rank, &which) in order.iter().enumerate() {
        let mut pool = (places[which] - gap * rank as f64, 1);
        while let Some(&(sum, count)) = pools.last() {
            if sum / count as f64 <= pool.0 / pool.1 as f64 {
                break;
            }
            pools.pop();
            pool = (pool.0 + sum, pool.1 + count);
        }
        pools.push(pool);
    }
    let means = pools
        .iter()
        .flat_map(|&(sum, count)| std::iter::repeat_n(sum / count as f64, count));
    let mut spread = vec![0.0; places.len()];
    for ((rank, &which), mean) in order.iter().enumerate().zip(means) {
        spread[which] = mean + gap * rank as f64;
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn what_overlaps_is_moved_apart_and_nothing_else() {
        assert_eq!(spread(&[100.0, 10.0], 15.0), [100.0, 10.0]);
        assert_eq!(spread(&[52.0, 50.0], 10.0), [56.0, 46.0]);
        // The third is pushed by the first two, which are moved too.
        assert_eq!(spread(&[0.0, 0.0, 6.0], 10.0), [-8.0, 2.0, 12.0]);
        assert!(spread(&[], 10.0).is_empty());
    }

    #[test]
    fn neighbors_keep_their_distance() {
        let places = [3.0, 90.0, 4.0, 91.0, 4.5, 20.0, 92.0];
        let mut found = spread(&places, 12.0);
        found.sort_by(f64::total_cmp);
        assert!(
            found.windows(2).all(|pair| pair[1] - pair[0] > 11.999),
            "{found:?}"
        );
    }
}
